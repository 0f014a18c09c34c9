/* What one request costs a plain C program: POST a file with libcurl, write the answer to stdout. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#define BODY_MAX (1 << 20)

int main(int argc, char **argv)
{
	static char body[BODY_MAX];
	long status = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: onepost URL FILE\n");
		return 2;
	}
	FILE *f = fopen(argv[2], "r");
	if (!f) {
		perror(argv[2]);
		return 1;
	}
	size_t n = fread(body, 1, sizeof body, f);
	fclose(f);

	curl_global_init(CURL_GLOBAL_DEFAULT);
	CURL *c = curl_easy_init();
	struct curl_slist *headers = curl_slist_append(NULL, "content-type: application/json");
	headers = curl_slist_append(headers, "anthropic-version: 2023-06-01");
	headers = curl_slist_append(headers, "Expect:");
	curl_easy_setopt(c, CURLOPT_URL, argv[1]);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)n);
	CURLcode rc = curl_easy_perform(c);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(headers);
	curl_easy_cleanup(c);
	curl_global_cleanup();
	return rc == CURLE_OK && status == 200 ? 0 : 1;
}
