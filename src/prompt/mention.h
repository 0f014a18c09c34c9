/* "@path" in the prompt: that file is attached, of a directory its list. */
#ifndef QUERN_PROMPT_MENTION_H
#define QUERN_PROMPT_MENTION_H

#include "prompt/attach.h"

/* Attaches what the text mentions: '@' at the beginning of a word, then a path, or one in double quotes. Punctuation
 * behind it is no part of it unless there is such a file. What is no file, lies outside or is forbidden stays text.
 * -1 with *e. */
int mention_find(struct attachments *a, const char *text, size_t n, struct error *e);

#endif
