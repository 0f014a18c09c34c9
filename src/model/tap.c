#include "model/tap.h"

int tap_sent(const struct model_tap *tap, const struct model_request *req, struct error *e)
{
	struct request_body body;

	if (!tap)
		return 0;
	if (request_build(&body, req, e))
		return -1;
	tap->sent(tap->ctx, req, &body);
	request_release(&body);
	return 0;
}
