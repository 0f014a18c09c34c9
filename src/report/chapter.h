/* Inside this room: the parts of a chapter's page. */
#ifndef QUERN_REPORT_CHAPTER_H
#define QUERN_REPORT_CHAPTER_H

#include "report/story.h"

/* ---- chapter.c: members of the two lines that a run begins and ends with; < 0 if there is none ---- */
int chapter_init(const struct chapter *c, const char *path);
int chapter_result(const struct chapter *c, const char *path);
int64_t chapter_result_int(const struct chapter *c, const char *path); /* -1: it is not told */

/* ---- facts.c ---- */
void fact_begin(struct buf *out, const char *name);
void fact_end(struct buf *out);
void fact_value(struct buf *out, const char *name, const struct json *doc, int tok); /* nothing if it is absent */
void show_meta(struct buf *out, const struct chapter *c); /* model, time and place, in a line */
void show_facts(struct buf *out, const struct chapter *c);

/* ---- verdict.c ---- */
bool chapter_is_good(const struct chapter *c);
void show_reason(struct buf *out, const struct chapter *c); /* its name */
void show_verdict(struct buf *out, const struct chapter *c);

/* ---- way.c ---- */
void show_path(struct buf *out, const struct chapter *c);
void show_contents(struct buf *out, const struct chapter *c); /* links to the turns, if they are many */

/* ---- tables.c, details.c: a part each, nothing if there is nothing to tell ---- */
void show_tools(struct buf *out, struct chapter *c);
void show_limits(struct buf *out, const struct chapter *c);
void show_models(struct buf *out, const struct chapter *c);
void show_hooks(struct buf *out, const struct chapter *c);
void show_denials(struct buf *out, const struct chapter *c);
void show_details(struct buf *out, const struct chapter *c);

#endif
