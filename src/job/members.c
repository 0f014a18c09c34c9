/* The maps inside a value (a tool, a hook, a price): their members are read with the setters of job keys, so that every
 * error has its place. */
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/utf8.h"
#include "job/set.h"

#define PATH_TEXT 200

static const char *member_path(char out[PATH_TEXT], const char *path, const char *name)
{
	snprintf(out, PATH_TEXT, "%.100s.%.80s", path, name);
	out[utf8_floor(out, strlen(out), PATH_TEXT - 1)] = '\0';
	return out;
}

static void suggest(const struct job_members *m, const struct yaml_node *key, char *out, size_t size)
{
	struct suggest near;

	suggest_init(&near, key->text, key->len);
	for (size_t i = 0; i < m->n; i++)
		suggest_offer(&near, m->v[i].path);
	snprintf(out, size, "%s%s%s", near.best ? " (did you mean " : "", near.best ? near.best : "",
	         near.best ? "?)" : "");
}

/* Settings files are written for a program that knows more. */
static int unknown(struct setter *s, const struct job_members *m, const char *path, const struct yaml_node *key,
                   const struct origin *o)
{
	char full[PATH_TEXT], near[100];

	suggest(m, key, near, sizeof near);
	member_path(full, path, key->text);
	if (o->source == SOURCE_SETTINGS)
		return setter_warn(s, o, key, full, "is not known and ignored%s", near);
	return setter_fail_in(s, o, key, full, "unknown key%s", near);
}

static int check_missing(struct setter *s, const struct job_members *m, const char *path, const struct yaml_node *map,
                         const struct origin *o)
{
	int rc = 0;

	for (const struct job_key *k = m->v; k < m->v + m->n; k++)
		if ((k->flags & KF_REQUIRED) && !yaml_get(map, k->path))
			rc = setter_fail_in(s, o, map, path, "%s is missing", k->path);
	return rc;
}

int setter_members(struct setter *s, const struct job_members *m, const char *path, void *into,
                   const struct yaml_node *map, const struct origin *o)
{
	char full[PATH_TEXT];
	int rc = 0;

	for (const struct yaml_node *v = map->first; v; v = v->next) {
		const struct job_key *k = m->v;
		while (k < m->v + m->n && strcmp(k->path, v->key->text) != 0)
			k++;
		if (k == m->v + m->n)
			rc |= unknown(s, m, path, v->key, o);
		else
			rc |= setter_member(s, k, member_path(full, path, k->path), into, v, o);
	}
	return rc | check_missing(s, m, path, map, o);
}
