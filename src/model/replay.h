/* The wire without a wire: answers come from a tape (model/tape.h), played through the same stream reader as real ones.
 */
#ifndef QUERN_MODEL_REPLAY_H
#define QUERN_MODEL_REPLAY_H

#include <stddef.h>

#include "model/model.h"

extern const struct wire replay_wire;

/* How many answers of the tape were not asked for; 0 for a model of another wire. */
size_t replay_unused(const struct model *m);

#endif
