#include "job/job_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/suggest.h"
#include "base/utf8.h"

#define PATH_TEXT 160

static void join(char out[PATH_TEXT], const char *section, const char *name)
{
	snprintf(out, PATH_TEXT, "%.40s%s%.100s", section ? section : "", section ? "." : "", name);
	out[utf8_floor(out, strlen(out), PATH_TEXT - 1)] = '\0';
}

/* A near name of the same section; else the same or a near name elsewhere, told with its whole path. */
static int fail_unknown(struct setter *s, const struct origin *o, const struct yaml_node *key, const char *section,
                        const char *name)
{
	struct suggest here, there;
	const char *path = NULL;
	char full[PATH_TEXT];

	join(full, section, name);
	suggest_init(&here, name, strlen(name));
	suggest_init(&there, name, strlen(name));
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		if (!k->path)
			continue;
		const char *before = there.best;
		if (schema_in_section(k, section))
			suggest_offer(&here, schema_leaf(k->path));
		suggest_offer(&there, schema_leaf(k->path));
		if (there.best != before)
			path = k->path;
	}
	if (!section)
		for (const struct job_section *i = job_sections; i->name; i++)
			suggest_offer(&here, i->name);
	const char *best = here.best ? here.best : path;
	if (!section && best && !strcmp(best, name)) /* by --set: in a file it would have been read as a section */
		return setter_fail(s, o, NULL, NULL, "a group of keys: set one of them, as in %s.KEY=VALUE", name);
	if (o->source == SOURCE_FILE)
		return setter_fail(s, o, key, full, "unknown key%s%s%s", best ? " (did you mean " : "",
		                   best ? best : "", best ? "?)" : "");
	return setter_fail(s, o, NULL, NULL, "unknown key%s%s%s", best ? " (did you mean " : "", best ? best : "",
	                   best ? "?)" : "");
}

static int read_section(struct setter *s, const struct origin *o, const struct yaml_node *map)
{
	const char *section = map->key->text;
	int rc = 0;

	if (map->kind == YAML_SCALAR && map->plain && !map->len)
		return 0; /* a section whose keys are all commented out */
	if (map->kind != YAML_MAP) {
		const struct job_key *k = job_keys;
		while (!schema_in_section(k, section))
			k++;
		return setter_fail(s, o, map, section, "must be a map of keys, as in {%s: ...}", schema_leaf(k->path));
	}
	for (const struct yaml_node *v = map->first; v; v = v->next) {
		char path[PATH_TEXT];
		join(path, section, v->key->text);
		const struct job_key *k = schema_by_path(path);
		rc |= k ? setter_value(s, k, v, o) : fail_unknown(s, o, v->key, section, v->key->text);
	}
	return rc;
}

static int read_top(struct setter *s, const struct origin *o, const struct yaml_node *root)
{
	int rc = 0;

	for (const struct yaml_node *v = root->first; v; v = v->next) {
		const char *name = v->key->text;
		const struct job_key *k = strchr(name, '.') ? NULL : schema_by_path(name);
		if (k)
			rc |= setter_value(s, k, v, o);
		else if (schema_section(name))
			rc |= read_section(s, o, v);
		else
			rc |= fail_unknown(s, o, v->key, NULL, name);
	}
	return rc;
}

enum file_status job_file_text(struct setter *s, const char *label, const char *text, size_t n)
{
	struct origin o = { SOURCE_FILE, label, false };
	struct yaml_node *root = NULL;
	struct yaml_node at = { 0 };
	struct error e = ERROR_INIT;

	if (yaml_parse(&s->job->arena, text, n, &root, &at.line, &at.col, &e)) {
		setter_fail(s, &o, &at, NULL, "%s", e.msg);
		return FILE_UNREADABLE;
	}
	if (!root) {
		setter_fail(s, &o, NULL, NULL, "the job file is empty");
		return FILE_UNREADABLE;
	}
	if (root->kind != YAML_MAP) {
		setter_fail(s, &o, root, NULL, "a job file is a map of keys, as in prompt: TEXT");
		return FILE_UNREADABLE;
	}
	return read_top(s, &o, root) ? FILE_ERRORS : FILE_FINE;
}

enum file_status job_file_read(struct setter *s, const char *path)
{
	struct origin o = { SOURCE_FILE, path, false };
	struct error e = ERROR_INIT;
	struct stat st;
	struct buf text;

	if (stat(path, &st)) {
		bool missing = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG;
		o.label = NULL;
		setter_fail(s, &o, NULL, NULL, "cannot open job file '%.*s': %s%s",
		            (int)utf8_floor(path, strlen(path), 80), path, strerror(errno),
		            missing ? " (did you mean -p?)" : "");
		return FILE_UNREADABLE;
	}
	if (S_ISDIR(st.st_mode)) {
		setter_fail(s, &o, NULL, NULL, "a directory, not a job file (did you mean -C?)");
		return FILE_UNREADABLE;
	}
	/* One byte more than a job file may have, so that the reader below tells the limit. */
	buf_init(&text, YAML_MAX_BYTES + 1);
	enum file_status status = FILE_UNREADABLE;
	if (io_read_file(AT_FDCWD, path, &text, &e))
		setter_fail(s, &o, NULL, NULL, "%s", e.msg);
	else
		status = job_file_text(s, path, buf_str(&text), text.len);
	buf_release(&text);
	return status;
}

/* A string is taken as it stands, so that no text needs quoting twice; all else is YAML. */
static int set_row(struct setter *s, const struct job_key *k, const char *value, const struct origin *o)
{
	struct yaml_node *root = NULL;
	struct yaml_node empty = { .kind = YAML_SCALAR, .text = "", .plain = true };
	struct error e = ERROR_INIT;
	int line, col;

	if (k->type == KEY_STRING)
		return setter_text(s, k, value, o);
	if (yaml_parse(&s->job->arena, value, strlen(value), &root, &line, &col, &e))
		return setter_fail(s, o, NULL, NULL, "%s", e.msg);
	return setter_value(s, k, root ? root : &empty, o);
}

/* env.NAME or model.headers.NAME: a map of one name. */
static int set_member(struct setter *s, const struct job_key *k, const char *name, const char *value,
                      const struct origin *o)
{
	struct yaml_node key = { .kind = YAML_SCALAR, .text = name, .len = strlen(name) };
	struct yaml_node v = { .kind = YAML_SCALAR, .text = value, .len = strlen(value), .key = &key };
	struct yaml_node map = { .kind = YAML_MAP, .first = &v };

	return setter_value(s, k, &map, o);
}

int job_set_key(struct setter *s, const char *key, size_t n, const char *value)
{
	char *path = arena_strndup(&s->job->arena, key, n);
	char label[PATH_TEXT];
	struct origin o = { SOURCE_OPTION, label, false };

	if (!path)
		return setter_fail(s, &(struct origin){ SOURCE_OPTION, "--set", false }, NULL, NULL, "out of memory");
	snprintf(label, sizeof label, "--set %.*s", (int)utf8_floor(path, n, 100), path);
	const struct job_key *k = schema_by_path(path);
	if (k)
		return set_row(s, k, value, &o);
	for (k = job_keys; k < job_keys + job_key_count; k++) {
		size_t len = k->path ? strlen(k->path) : 0;
		if (len && k->type == KEY_MAP && !strncmp(path, k->path, len) && path[len] == '.')
			return set_member(s, k, path + len + 1, value, &o);
	}
	char *dot = strchr(path, '.');
	if (dot)
		*dot = '\0';
	const struct job_section *section = dot ? schema_section(path) : NULL;
	if (section)
		return fail_unknown(s, &o, NULL, path, dot + 1);
	if (dot)
		*dot = '.';
	return fail_unknown(s, &o, NULL, NULL, path);
}
