/* Which exit status of a shell command is a failure. */
#ifndef QUERN_TOOL_SHELL_STATUS_H
#define QUERN_TOOL_SHELL_STATUS_H

/* NULL if the status is a failure (or 0), else what exit status 1 of this command means ("no match"). */
const char *shell_status_meaning(const char *command, int status);

#endif
