#include "model/http_tls.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *from_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* As OpenSSL names them: eight hex digits of the subject's hash, a dot, a number. */
static bool is_hash_link(const char *name)
{
	return strspn(name, "0123456789abcdef") == 8 && name[8] == '.' && strspn(name + 9, "0123456789") > 0;
}

static bool has_hash_links(const char *path)
{
	DIR *dir = path ? opendir(path) : NULL;
	struct dirent *entry;
	bool found = false;

	if (!dir)
		return false;
	while (!found && (entry = readdir(dir)))
		found = is_hash_link(entry->d_name);
	closedir(dir);
	return found;
}

static CURLcode set_both(const struct curl_api *api, CURL *easy, const char *file, const char *dir)
{
	CURLcode r = api->easy_setopt(easy, CURLOPT_CAINFO, file);

	return r ? r : api->easy_setopt(easy, CURLOPT_CAPATH, dir);
}

CURLcode http_tls_set(const struct curl_api *api, CURL *easy)
{
	const curl_version_info_data *built = api->version_info(CURLVERSION_NOW);
	const char *file = from_env("CURL_CA_BUNDLE");
	const char *dir = NULL;

	if (!file) {
		file = from_env("SSL_CERT_FILE");
		dir = from_env("SSL_CERT_DIR");
	}
	if (file || dir)
		return set_both(api, easy, file, dir);
	/* By the directory only the certificates that are needed are read; the bundle is parsed whole for each new
	 * connection, 30 ms of it, as long as a directory is set beside it. */
	if (has_hash_links(built->capath))
		return set_both(api, easy, NULL, built->capath);
	return set_both(api, easy, built->cainfo, NULL);
}
