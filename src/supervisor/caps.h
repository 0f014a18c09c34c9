/*
 * Which capabilities a child of root may have: those that file work needs, so that no child can trace the
 * loop process or read its environment through /proc. For other users nothing changes.
 */
#ifndef QUERN_SUPERVISOR_CAPS_H
#define QUERN_SUPERVISOR_CAPS_H

/* In the supervisor, once: takes the others out of the bounding set, which an exec as root would otherwise
 * give back. The supervisor's own stay, it must be able to end a child that changed its user.
 * 0, or -1 if some could not be taken out (then caps_drop must also forbid new privileges). */
int caps_limit(void);

/* In the child, after caps_limit: gives the others up. Async-signal-safe. 0, or -1 with errno. */
int caps_drop(int no_new_privileges);

#endif
