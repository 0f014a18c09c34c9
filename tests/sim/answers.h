/* Random answers: a mood is how often an answer of one sort comes in a run (private to the simulator). */
#ifndef QUERN_TESTS_SIM_ANSWERS_H
#define QUERN_TESTS_SIM_ANSWERS_H

#include "world.h"

void sim_draw_moods(struct sim *s);

/* ---- random.c ---- */
void sim_small_window(struct sim *s, size_t row); /* row: 0 to 3 */
void sim_smaller_fallback(struct sim *s);

/* A line of the script language as it grows. */
struct writer {
	struct sim *s;
	const struct model_request *req;
	char *line;
	size_t n, max;
	bool partial; /* it will be cut */
};
void put(struct writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct sort {
	const char *name;
	bool calm; /* nothing breaks and nothing is declined */
	void (*write)(struct writer *w);
};

/* ---- faults.c: answers that are none ---- */
void fault_overload(struct writer *w);
void fault_transient(struct writer *w);
void fault_fatal(struct writer *w);
void fault_repair(struct writer *w);
void fault_room(struct writer *w);
void fault_image(struct writer *w);
void fault_too_long(struct writer *w);
void fault_mismatch(struct writer *w);

#endif
