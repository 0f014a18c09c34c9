#include "model/http_tls.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static void find(struct http_tls *tls, const struct curl_api *api)
{
	const curl_version_info_data *built = api->version_info(CURLVERSION_NOW);

	tls->known = true;
	tls->file = from_env("CURL_CA_BUNDLE");
	if (tls->file)
		return;
	tls->file = from_env("SSL_CERT_FILE");
	tls->dir = from_env("SSL_CERT_DIR");
	if (tls->file || tls->dir)
		return;
	/* By the directory only the certificates that are needed are read; the bundle is parsed whole for each new
	 * connection, 30 ms of it, as long as a directory is set beside it. */
	if (has_hash_links(built->capath))
		tls->dir = built->capath;
	else
		tls->file = built->cainfo;
}

CURLcode http_tls_set(struct http_tls *tls, const struct curl_api *api, CURL *easy, const char *url)
{
	if (strncasecmp(url, "https:", strlen("https:")) != 0)
		return CURLE_OK;
	if (!tls->known)
		find(tls, api);
	CURLcode r = api->easy_setopt(easy, CURLOPT_CAINFO, tls->file);

	return r ? r : api->easy_setopt(easy, CURLOPT_CAPATH, tls->dir);
}
