/* The rows of one run: the table's, and those made of the job's own tools. */
#include <stdlib.h>
#include <string.h>

#include "tool/internal.h"

/* Keeps a copy of the row with what the run must add to it; NULL with *e. */
static const struct tool_row *make_row(struct toolbox *t, const struct tool_row *row, struct error *e)
{
	struct made_row *m = calloc(1, sizeof *m);

	if (!m) {
		error_nomem(e);
		return NULL;
	}
	m->row = *row;
	m->next = t->made;
	t->made = m;
	m->schema = json_schema_compile(row->schema, strlen(row->schema), e);
	if (!m->schema) {
		error_prefix(e, "input schema of tool %s", row->name);
		return NULL;
	}
	m->row.check = m->schema;
	if (row->external && row->external->env) {
		m->envp = external_env(&t->cfg, row->external);
		if (!m->envp) {
			error_nomem(e);
			return NULL;
		}
		m->row.envp = m->envp;
	}
	return &m->row;
}

int rows_make(struct toolbox *t, struct error *e)
{
	size_t n = 0;

	while (tool_table[n])
		n++;
	size_t all = n + t->cfg.nexternal + 1;
	t->rows = calloc(all, sizeof(*t->rows));
	t->offered = calloc(all, sizeof *t->offered);
	t->withheld = calloc(all, sizeof *t->withheld);
	if (!t->rows || !t->offered || !t->withheld)
		return error_nomem(e);
	for (size_t i = 0; i < n; i++) {
		t->rows[i] = tool_table[i]->schema ? make_row(t, tool_table[i], e) : tool_table[i];
		if (!t->rows[i])
			return -1;
	}
	for (size_t i = 0; i < t->cfg.nexternal; i++) {
		struct tool_row row = external_row(&t->cfg.external[i]);
		if (tool_find(row.name))
			return error_set(e, ERR_INPUT, "tools.external: '%s' is the name of a built-in tool", row.name);
		t->rows[n + i] = make_row(t, &row, e);
		if (!t->rows[n + i])
			return -1;
	}
	return 0;
}

void rows_release(struct toolbox *t)
{
	while (t->made) {
		struct made_row *m = t->made;
		t->made = m->next;
		json_schema_free(m->schema);
		free(m->envp);
		free(m);
	}
	free(t->rows);
}
