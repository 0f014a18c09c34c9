/* What is generated from the schema table for other programs to read. */
#ifndef QUERN_JOB_DOCS_H
#define QUERN_JOB_DOCS_H

#include "base/buf.h"
#include "job/schema.h"

/* Completions for "bash", "zsh" or "fish"; -1 for another name. */
int job_print_completion(const char *shell, struct buf *out);

/* The man page's lists as mdoc: of the options a .Ss and a .Bl for each group; of the keys that have none one .Bl. */
void job_print_man(struct buf *out);
void job_print_man_keys(struct buf *out);

/* What the man page says of a key behind its line of help: sentences, without the last full stop. */
struct job_note {
	const char *name; /* path of the key; of a row without one its option, "--set" */
	const char *text;
};
extern const struct job_note job_notes[];
extern const size_t job_note_count;

/* The default as people read it, NULL = none. */
const char *job_default_text(const struct job_key *k);

#endif
