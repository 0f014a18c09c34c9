/* The supervisor process itself. */
#ifndef QUERN_SUPERVISOR_PROCESS_H
#define QUERN_SUPERVISOR_PROCESS_H

#include "supervisor/supervisor.h"

/* Runs in the forked process, with all signals blocked: serves the socket until the loop process is gone or
 * says stop, ends what is left, exits. */
_Noreturn void process_run(int sock, const struct supervisor_config *cfg);

#endif
