/* Acceptance of single strings: what a row's `check` names. 0, or -1 with *e, which never shows what may be secret. */
#ifndef QUERN_JOB_CHECK_H
#define QUERN_JOB_CHECK_H

#include "base/error.h"

int check_text(const char *name, const char *text, struct error *e);        /* UTF-8, may be empty */
int check_prompt(const char *name, const char *text, struct error *e);      /* UTF-8, not blank */
int check_word(const char *name, const char *text, struct error *e);        /* printable, no white space, not empty */
int check_title(const char *name, const char *text, struct error *e);       /* printable UTF-8, not empty */
int check_place(const char *name, const char *text, struct error *e);       /* not empty; "~/" is understood later */
int check_path(const char *name, const char *text, struct error *e);        /* not empty, no "~/" */
int check_record_path(const char *name, const char *text, struct error *e); /* likewise, and not "-" */
int check_url(const char *name, const char *text, struct error *e);         /* http or https, no user or password */
int check_env(const char *name, const char *text, struct error *e);         /* a variable's name and value */
int check_env_name(const char *name, const char *text, struct error *e);
int check_header(const char *name, const char *text, struct error *e);
int check_extra(const char *name, const char *text, struct error *e); /* a member of model.extra */
/* Permission rules of allow, and of ask and deny. */
int check_allow_rule(const char *name, const char *text, struct error *e);
int check_ask_rule(const char *name, const char *text, struct error *e);
int check_deny_rule(const char *name, const char *text, struct error *e);

#endif
