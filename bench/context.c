/*
 * What the context pipeline costs a turn while nothing is over a mark: staging the round that ended, the layers in
 * front of the next request, and the estimate that they work with. Two conversations, of 1 MB and of 10 MB, take their
 * turns side by side. Prints "SMALL LARGE": nanoseconds a turn, each the least of many batches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "context/context.h"

#define RESULT  2000 /* bytes */
#define BATCH   20   /* turns */
#define BATCHES 100

struct talk {
	struct history h;
	struct context *c;
	struct estimate est;
	int ids;
	int64_t least;
};

static void check(bool ok)
{
	if (ok)
		return;
	fprintf(stderr, "context: out of memory\n");
	exit(1);
}

static bool may_clear(void *ctx, const char *tool)
{
	(void)ctx;
	(void)tool;
	return true;
}

static void forget(void *ctx, const char *id)
{
	(void)ctx;
	(void)id;
}

static void add_round(struct talk *t)
{
	static const char input[] = "{\"file_path\":\"src/some/file.c\",\"offset\":100,\"limit\":50}";
	char id[32], text[RESULT];

	snprintf(id, sizeof id, "toolu_%08d", ++t->ids);
	memset(text, 'x', sizeof text);
	struct message *answer = message_new(ROLE_ASSISTANT);
	check(answer && !message_add(answer, block_new_tool_use(id, "Read", input, sizeof input - 1)));
	check(!history_add(&t->h, answer));
	check(!history_add_user_block(&t->h, block_new_tool_result(id, text, sizeof text, false)));
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void turn(struct talk *t)
{
	struct context_report report;

	check(!context_round_ended(t->c, &t->h));
	check(!context_prepare(t->c, &t->h, estimate_tokens(&t->est, &t->h, 8000), &report) && !report.n);
}

static void open_talk(struct talk *t, size_t bytes)
{
	const struct context_config cfg = { .microcompact_keep = 5, .may_clear = may_clear, .forget = forget };
	const struct context_spec spec = { .window = 100000000 };
	struct context_model model = { .thinking_bound = true };

	*t = (struct talk){ .h = HISTORY_INIT,
		            .est = { .anchor_tokens = -1, .bytes_per_token = 4 },
		            .least = INT64_MAX };
	t->c = context_open(&cfg, NULL);
	check(t->c && !context_marks(&spec, 0, 32000, 4, &model.marks, NULL));
	context_set_model(t->c, &model);
	check(!history_add_user_block(&t->h, block_new_text("task", 4)));
	while (t->h.bytes < bytes) {
		add_round(t);
		turn(t);
	}
}

static void batch(struct talk *t)
{
	int64_t spent = 0;

	for (int i = 0; i < BATCH; i++) {
		add_round(t);
		int64_t began = now();
		turn(t);
		spent += now() - began;
	}
	if (spent < t->least)
		t->least = spent;
}

int main(void)
{
	struct talk talks[2];

	open_talk(&talks[0], 1000000);
	open_talk(&talks[1], 10000000);
	for (int i = 0; i < BATCHES; i++) {
		batch(&talks[0]);
		batch(&talks[1]);
	}
	printf("%lld %lld\n", (long long)talks[0].least / BATCH, (long long)talks[1].least / BATCH);
	for (int i = 0; i < 2; i++) {
		context_free(talks[i].c);
		history_release(&talks[i].h);
	}
	return 0;
}
