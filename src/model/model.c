#include "model/model.h"

#include <string.h>

#include "model/anthropic.h"
#include "model/replay.h"

const struct wire *const model_wires[] = { &anthropic_wire, &replay_wire, NULL };

const struct wire *model_wire_find(const char *name)
{
	for (size_t i = 0; model_wires[i]; i++)
		if (!strcmp(model_wires[i]->name, name))
			return model_wires[i];
	return NULL;
}
