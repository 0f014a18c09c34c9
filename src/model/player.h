/*
 * The wire of a replayed bundle: what is asked is held against what was asked (model/compare.h), and the recorded
 * answer is given to the reader of answers as it came, in a time that its owner tells.
 *
 * It waits for nothing by itself. Its owner asks for what comes next, lets the time pass until then, and has it given:
 * player_next, player_give. A request that was not recorded, or not so, ends with MODEL_MISMATCH.
 *
 * Life cycle: player_open -> as any model (model/model.h), with events from inside player_give -> ops->free.
 */
#ifndef QUERN_MODEL_PLAYER_H
#define QUERN_MODEL_PLAYER_H

#include "model/model.h"
#include "model/recorded.h"

struct player_config {
	struct recorded *recorded; /* borrowed; several players may play from it, each other kinds */
	bool partial;              /* as of struct model_config */
	bool strict;               /* the same bytes must be asked */
	int64_t (*now)(void *ctx); /* ms */
	/* A result of a tool is another one than was recorded; each is told once. */
	void (*notice)(void *ctx, const char *code, const char *text);
	void *ctx;                   /* of the two */
	const struct model_tap *tap; /* as of struct model_config */
};

/* NULL with *e: no memory. */
struct model *player_open(const struct player_config *cfg, model_sink sink, void *ctx, struct error *e);

enum player_piece {
	PLAYER_NOTHING, /* nobody asked, or it is paused */
	PLAYER_PIECE,   /* comes at *at, or before if somebody looks */
	PLAYER_APART,   /* comes at *at, and was not there when somebody looked before */
	PLAYER_END      /* of the record: somebody ended it at *at; who lets that pass gets a mismatch */
};
enum player_piece player_next(const struct model *m, int64_t *at);
void player_give(struct model *m);
size_t player_given(const struct model *m); /* bytes of the answer that is played; 0 = nobody asked */

#endif
