/* The loop against scripted worlds: for each path the trace, the exit code, the turns and what was shown. */

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop_path.h"

#define S(...)                                                                                                         \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

struct path {
	const char *name;
	const char *script[16];
	const char *trace;
	int exit_code;
	int turns;
	const char *shows; /* beginning of an event line that must be there, or NULL */
	const char *hides; /* beginning of one that must not */
	int requests;      /* 0 = not asserted */
	/* changes to the configuration; 0 = none */
	int64_t max_turns, token_budget, max_cost, max_requests, max_tool_calls, max_output, wall_ms, signal_at,
	        retries, full_until;
	const char *starts; /* see struct sim; NULL = not asserted */
	bool differs;       /* the batch executor gives other lines: a stream breaks, or a run ends in one */
};

static const char *const cut = "text part | stop max_tokens";
#define PREFILL                                                                                                        \
	"http 400 invalid_request_error This model does not support assistant message prefill. The conversation must " \
	"end with a user message."

static const struct path paths[] = {
	{ "one answer", S("text hello"), "completed", 0, 1, "end completed 0 turns=1 hello", "tombstone", 1 },
	{ "tool then answer", S("text look | use SafeA t1", "text done"), "next_turn completed", 0, 2, "result t1 ok",
	  NULL, 2 },
	{ "the last block carries the stop reason", S("text look | use SafeA t1", "text done"), "next_turn completed",
	  0, 2, "assistant SafeA t1 =tool_use" },
	{ "blank text is left out", S("text   | use SafeA t1", "text done"), "next_turn completed", 0, 2, NULL,
	  "assistant   " },
	{ "an unsafe call that failed cancels the rest", S("use Fail t1 | use UnsafeA t2 | use SafeA t3", "text done"),
	  "next_turn completed", 0, 2, "result t3 error", "result t2 ok" },
	{ "denied call", S("use Deny t1", "text done"), "next_turn completed", 0, 2, "denied Deny" },
	{ "unknown tool five times",
	  S("use Unknown a", "use Unknown b", "bad SafeA c {\"x", "use Unknown d", "use Unknown e"),
	  "next_turn next_turn next_turn next_turn malformed_tool_use_exhausted", 17, 5 },
	{ "a good call between resets the count",
	  S("use Unknown a", "use Unknown b", "use Unknown c", "use Unknown d", "use SafeA e", "use Unknown f",
	    "text done"),
	  "next_turn next_turn next_turn next_turn next_turn next_turn completed", 0, 7 },
	{ "bad input is shown to the model", S("bad SafeA t1 {\"x", "text done"), "next_turn completed", 0, 2,
	  "result t1 error InputValidationError: the tool input is not a JSON object (offset 1: " },
	{ "an id that was used before gets another", S("use SafeA t1", "use SafeA t1", "text done"),
	  "next_turn next_turn completed", 0, 3, "result t1_2" },
	{ "twice the same id in one answer", S("use SafeA t1 | use SafeA t1", "text done"), "next_turn completed", 0, 2,
	  "result t1_2" },
	{ "turn limit: tools of the last answer run", S("use SafeA t1", "use SafeA t2", "text never"),
	  "next_turn next_turn max_turns", 10, 2, "result t2 ok", NULL, 2, .max_turns = 2 },
	{ "turn limit met by the final answer", S("text done"), "completed", 0, 1, .max_turns = 1 },
	{ "token budget", S("usage 900 100 | use SafeA t1", "text never"), "next_turn budget_exhausted", 13, 1,
	  "result t1 ok", NULL, 1, .token_budget = 1000 },
	{ "near the budget the model is told once",
	  S("usage 900 10 | use SafeA t1", "usage 50 10 | use SafeA t2", "text x"), "next_turn next_turn completed", 0,
	  3, "user The budget of this run is nearly spent", NULL, 3, .token_budget = 1000 },
	{ "cost budget", S("usage 1000 1 | use SafeA t1", "text never"), "next_turn budget_exhausted", 13, 1, NULL,
	  NULL, 1, .max_cost = 1000000 },
	{ "failed attempts are paid too",
	  S("usage 990 1 | text x | stream overloaded_error Overloaded", "usage 100 10 | use SafeA t1"),
	  "next_turn budget_exhausted", 13, 1, "tombstone 0", NULL, 2, .token_budget = 1000 },
	{ "request limit", S("use SafeA t1", "text never"), "next_turn budget_exhausted", 13, 1, NULL, NULL, 1,
	  .max_requests = 1 },
	{ "tool call limit", S("use SafeA t1 | use SafeA t2", "text never"), "budget_exhausted", 13, 1,
	  "result t2 error Error: the tool call limit", NULL, 1, .max_tool_calls = 1 },
	{ "tool call limit met but not passed", S("use SafeA t1", "text done"), "next_turn completed", 0, 2,
	  .max_tool_calls = 1 },
	{ "cut answer: the cap is raised", S("text part | stop max_tokens", "text whole"),
	  "max_output_tokens_escalate completed", 0, 1, "end completed 0 turns=1 whole", "assistant part" },
	{ "cut again: resumed", S("text part | stop max_tokens", "text part | stop max_tokens", "text rest"),
	  "max_output_tokens_escalate max_output_tokens_recovery completed", 0, 2, "user Your answer was cut" },
	{ "cut for ever", S(cut, cut, cut, cut, cut, "text never"),
	  "max_output_tokens_escalate max_output_tokens_recovery max_output_tokens_recovery max_output_tokens_recovery "
	  "max_output_tokens",
	  14, 4, "end max_output_tokens 14 turns=4 part", NULL, 5 },
	{ "the user's own cap is not raised", S(cut, "text rest"), "max_output_tokens_recovery completed", 0, 2,
	  .max_output = 500 },
	{ "cut in a call: it is never run", S("text a | use UnsafeA t1 | stop max_tokens", "text done"),
	  "max_output_tokens_escalate completed", 0, 1, NULL, "result t1" },
	{ "complete calls before the cut run", S("use SafeA t1 | use UnsafeA t2 | stop max_tokens", "text done"),
	  "next_turn completed", 0, 2, "result t1 ok", "assistant UnsafeA" },
	{ "cut thinking only: nothing is stored", S("unsigned hm | stop max_tokens", "text done"),
	  "max_output_tokens_recovery completed", 0, 2, .max_output = 500 },
	{ "and thinking that nothing follows is none", S("thinking hm | stop max_tokens", "text done"),
	  "max_output_tokens_recovery completed", 0, 2, .max_output = 500 },
	{ "nor is it kept behind a call", S("use SafeA t1 | thinking hm | text a | stop max_tokens", "text done"),
	  "next_turn completed", 0, 2, "result t1 ok" },
	{ "window exceeded", S("text part | stop model_context_window_exceeded"), "max_output_tokens", 14, 1,
	  "end max_output_tokens 14 turns=1 part" },
	{ "pause", S("text a | stop pause_turn", "text b"), "pause_turn completed", 0, 1, "end completed 0 turns=1 b" },
	{ "pause for ever",
	  S("text a | stop pause_turn", "text a | stop pause_turn", "text a | stop pause_turn",
	    "text a | stop pause_turn", "text a | stop pause_turn", "text a | stop pause_turn"),
	  "pause_turn pause_turn pause_turn pause_turn pause_turn model_error", 20, 1, NULL, NULL, 6 },
	{ "pauses on both sides of a cut are not in a row",
	  S("text a | stop pause_turn", "text a | stop pause_turn", "text a | stop pause_turn",
	    "text a | stop pause_turn", "text a | stop pause_turn", cut, "text a | stop pause_turn", "text b"),
	  "pause_turn pause_turn pause_turn pause_turn pause_turn max_output_tokens_recovery pause_turn completed", 0,
	  2, .max_output = 500 },
	{ "a server that wants the user's word after a pause", S("text a | stop pause_turn", PREFILL, "text b"),
	  "pause_turn completed", 0, 1, "user Please continue.", "synthetic", 3 },
	{ "where the user's word is last, that is not it", S(PREFILL, "text never"), "model_error", 20, 0,
	  "synthetic invalid_request", "user", 1 },
	{ "an image that is refused within a stream",
	  S("use SafeA t1 {\"image\":1}", "text x | stream invalid_request_error Could not process image", "text y"),
	  "next_turn completed", 0, 2, "notice image_removed", "synthetic", 3 },
	{ "pause in the last turn may end", S("text a | stop pause_turn", "text b"), "pause_turn completed", 0, 1,
	  .max_turns = 1 },
	{ "empty answer is nudged once", S("stop end_turn", "text done"), "empty_answer_nudge completed", 0, 2,
	  "user Please continue." },
	{ "two empty answers", S("stop end_turn", "stop end_turn"), "empty_answer_nudge completed", 0, 2,
	  "assistant (empty)" },
	{ "empty answer in the last turn", S("stop end_turn"), "completed", 0, 1, NULL, "user", .max_turns = 1 },
	{ "a nudge is a wish", S("usage 2000 1 | stop end_turn"), "empty_answer_nudge completed", 0, 1,
	  .token_budget = 1000 },
	{ "refusal", S("text no | text never | stop refusal"), "refusal", 22, 0, "tombstone 1",
	  "end refusal 22 turns=0 n" },
	{ "tool_use without a call ends", S("text hm | stop tool_use"), "completed", 0, 1 },
	{ "end_turn with a call runs it", S("use SafeA t1 | stop end_turn", "text x"), "next_turn completed", 0, 2 },
	{ "unknown stop reason", S("text hm | stop novel"), "completed", 0, 1, "notice unknown_stop_reason" },
	{ "overload is retried", S("http 529 overloaded_error Overloaded", "text hi"), "completed", 0, 1, "retry 1 ",
	  "synthetic", 2 },
	{ "cut stream is withdrawn and repeated", S("text a | text b | cut", "text hi"), "completed", 0, 1,
	  "tombstone 1", NULL, 2 },
	{ "overload inside a stream", S("text a | use SafeA t1 | stream overloaded_error Overloaded", "text hi"),
	  "completed", 0, 1, "tombstone 1", "result t1", 2 },
	{ "an error in a stream that is final", S("text a | stream invalid_request_error no"), "model_error", 20, 0,
	  "synthetic invalid_request", NULL, 1 },
	{ "a costly attempt is made three times", S("text a | cut", "text a | cut", "text a | cut", "text never"),
	  "model_error", 75, 0, NULL, NULL, 3 },
	{ "a refused key", S("http 401 authentication_error invalid x-api-key"), "model_error", 20, 0,
	  "synthetic authentication_failed" },
	{ "retries run out", S("http 500 api_error a", "http 500 api_error b", "http 500 api_error last"),
	  "model_error", 75, 0, "synthetic server_error last", NULL, 3, .retries = 2 },
	{ "a long retry-after ends at once", S("http 429 rate_limit_error slow | retry-after 400000"), "model_error",
	  75, 0, NULL, "retry" },
	{ "no connection: three retries", S("refused", "refused", "refused", "refused", "text never"), "model_error",
	  75, 0, NULL, NULL, 4 },
	{ "html instead of a stream", S("html", "html", "html", "text never"), "model_error", 20, 0 },
	{ "prompt too long", S("http 400 invalid_request_error prompt is too long: 213462 tokens > 200000 maximum"),
	  "prompt_too_long", 11, 0, "synthetic invalid_request", "retry", 1 },
	{ "and not to a smaller one again",
	  S("http 400 invalid_request_error max_tokens: 8000 > 4000, which is the maximum allowed number of output "
	    "tokens",
	    "http 400 invalid_request_error max_tokens: 4000 > 2000, which is the maximum allowed number of output "
	    "tokens",
	    "text never"),
	  "model_error", 20, 0, "notice request_repaired", NULL, 2 },
	{ "max_tokens is clamped once",
	  S("http 400 invalid_request_error max_tokens: 128000 > 4000, which is the maximum allowed number of output "
	    "tokens for x",
	    "text ok"),
	  "completed", 0, 1, "notice request_repaired", "synthetic", 2 },
	{ "silence before the first byte", S("hang", "text hi"), "completed", 0, 1, "retry 1", NULL, 2 },
	{ "wall time while the model is silent", S("hang"), "aborted_streaming", 40, 0, NULL, NULL, 1,
	  .wall_ms = 5000 },
	{ "wall time in a tool", S("use SlowUnsafe t1"), "aborted_tools", 41, 1, "result t1 error [Request interrupted",
	  NULL, 1, .wall_ms = 5000 },
	{ "signal while the model answers", S("after 5000 | text hi"), "aborted_streaming", 143, 0, NULL, NULL, 1,
	  .signal_at = 2000 },
	{ "signal in a tool", S("use Slow t1 | use SafeA t2"), "aborted_tools", 143, 1, "result t2 error", NULL, 1,
	  .signal_at = 5000 },
	{ "what ends with the signal is not taken behind it", S("use SafeA t1 {\"ms\":3975}"), "aborted_tools", 143, 1,
	  "result t1 error [Request", "result t1 ok", 1, .signal_at = 5000 },
	{ "signal in the backoff", S("http 529 overloaded_error x", "text never"), "aborted_streaming", 143, 0,
	  "retry 1", NULL, 1, .signal_at = 1100 },

	/* calls that start while the answer streams */
	{ "a call starts when the next block begins", S("use SafeA t1 | text x | after 5000 | text y", "text done"),
	  "next_turn completed", 0, 2, "result t1 ok", .starts = "t1*" },
	{ "a call starts when the answer has stopped", S("text x | use UnsafeA t1", "text done"), "next_turn completed",
	  0, 2, "result t1 ok", .starts = "t1*" },
	{ "also by a reason that is not known", S("use SafeA t1 | stop novel", "text done"), "next_turn completed", 0,
	  2, "result t1 ok", .starts = "t1*" },
	{ "also by a pause", S("use UnsafeA t1 | stop pause_turn", "text done"), "next_turn completed", 0, 2,
	  "result t1 ok", .starts = "t1*" },
	{ "signs of life start nothing",
	  S("use UnsafeA t1 | ping | after 1000 | ping | after 1000 | ping | stop max_tokens", "text done"),
	  "max_output_tokens_escalate completed", 0, 1, NULL, "result", .starts = "" },
	{ "a cut answer's calls but the last have started",
	  S("use SafeA t1 | use UnsafeA t2 | after 900 | use UnsafeB t3 | stop max_tokens", "text done"),
	  "next_turn completed", 0, 2, "result t2 ok", "assistant UnsafeB", .starts = "t1* t2*" },
	{ "blank text behind a call shows that it was whole",
	  S("use UnsafeA t1 | text   | stop max_tokens", "text done"), "next_turn completed", 0, 2, "result t1 ok",
	  "tombstone", .starts = "t1*" },
	{ "window exceeded after calls have started",
	  S("use UnsafeA t1 | text x | stop model_context_window_exceeded", "text done"), "next_turn completed", 0, 2,
	  "result t1 ok", .starts = "t1*" },
	{ "results wait for the answer, in its order",
	  S("use SafeA t1 {\"ms\":3000} | use SafeB t2 | text x | after 9000 | text y", "text done"),
	  "next_turn completed", 0, 2, "result t1 ok", .starts = "t1* t2*" },
	{ "what cannot run is answered in its place",
	  S("use Deny d | use Unknown u | bad SafeA b {x | use SafeA t1 | after 500 | text x", "text done"),
	  "next_turn completed", 0, 2, "result b error InputValidationError", .starts = "t1*" },
	{ "a failed command cancels what comes later in the stream",
	  S("use Fail t1 | text x | after 3000 | use UnsafeA t2 | use SafeA t3", "text done"), "next_turn completed", 0,
	  2, "result t3 error <tool_use_error>Cancelled", "result t2 ok", .starts = "t1*" },
	{ "the next answer's calls are not cancelled by it",
	  S("use Fail t1 | text x | after 300 | text y", "use UnsafeA t2", "text done"),
	  "next_turn next_turn completed", 0, 3, "result t2 ok", .starts = "t1* t2*" },
	{ "a renamed call starts in the stream too",
	  S("use SafeA t1", "use UnsafeA t1 | text x | after 500 | text y", "text done"),
	  "next_turn next_turn completed", 0, 3, "result t1_2 ok", .starts = "t1* t1_2*" },
	{ "the limit of calls holds in the stream", S("use SafeA t1 | use SafeA t2 | text x | after 500 | text y"),
	  "budget_exhausted", 13, 1, "result t2 error Error: the tool call limit", .max_tool_calls = 1,
	  .starts = "t1*" },
	{ "a call that is denied is not over the limit", S("use Deny t1 | use SafeA t2", "text done"),
	  "next_turn completed", 0, 2, "result t2 ok", .max_tool_calls = 1 },
	{ "a slow reader of stdout holds back calls", S("use UnsafeA t1 | text x | after 5000 | text y", "text done"),
	  "next_turn completed", 0, 2, "result t1 ok", .full_until = 4000, .starts = "t1*" },
	{ "a slow reader holds them back behind the answer too", S("use UnsafeA t1 | text x", "text done"),
	  "next_turn completed", 0, 2, "result t1 ok", .full_until = 4000, .starts = "t1" },

	/* streams that break */
	{ "read-only calls are withdrawn, and their ids may come again",
	  S("use SafeA t1 {\"ms\":90000} | text x | cut", "use SafeA t1 | text y", "text done"), "next_turn completed",
	  0, 2, "tombstone 1", "notice", 3, .starts = "t1* t1*", .differs = true },
	{ "results of what was withdrawn are dropped", S("use SafeA t1 | text x | after 5000 | cut", "text done"),
	  "completed", 0, 1, "tombstone 1", "result", 2, .starts = "t1*", .differs = true },
	{ "a call with effects is not repeated: salvage",
	  S("use UnsafeA t1 {\"ms\":500} | after 100 | text x | cut", "text done"), "salvaged_stream completed", 0, 2,
	  "result t1 ok", "tombstone", 2, .starts = "t1*", .differs = true },
	{ "salvage after an error event",
	  S("use UnsafeA t1 | text x | stream overloaded_error Overloaded", "text done"), "salvaged_stream completed",
	  0, 2, "notice stream_salvaged", "retry", 2, .differs = true },
	{ "salvage after silence", S("use UnsafeA t1 | text x | hang", "text done"), "salvaged_stream completed", 0, 2,
	  "result t1 ok", "retry", 2, .differs = true },
	{ "salvage keeps every block that came to its end", S("use UnsafeA t1 | use UnsafeB t2 | cut", "text done"),
	  "salvaged_stream completed", 0, 2, "result t2 ok", NULL, 2, .starts = "t1* t2", .differs = true },
	{ "and drops what did not", S("use UnsafeA t1 | open | cut", "text done"), "salvaged_stream completed", 0, 2,
	  "assistant UnsafeA t1", NULL, 2, .differs = true },
	{ "and what waits for the server", S("use UnsafeA t1 | text x | server s1 | cut", "text done"),
	  "salvaged_stream completed", 0, 2, "assistant x", "assistant -", 2, .differs = true },
	{ "only queued is not started", S("use SafeA t1 {\"ms\":900} | use UnsafeA t2 | text x | cut", "text done"),
	  "completed", 0, 1, "tombstone 2", "result", 2, .starts = "t1*", .differs = true },
	{ "a denied call has no effects", S("use Deny t1 | text x | cut", "text done"), "completed", 0, 1,
	  "tombstone 1", "result", 2, .starts = "" },
	{ "a salvaged turn counts against the limit", S("use UnsafeA t1 | text x | cut"), "salvaged_stream max_turns",
	  10, 1, "result t1 ok", NULL, 1, .max_turns = 1, .differs = true },
	{ "what a salvaged attempt cost is counted once",
	  S("usage 900 50 | use UnsafeA t1 | text x | cut", "usage 50 10 | text done"), "salvaged_stream completed", 0,
	  2, .token_budget = 1000, .differs = true },
	{ "an attempt before the salvaged one was a retry",
	  S("use SafeA t1 | text x | cut", "use SafeA t1 | use UnsafeA t2 | text x | cut", "text done"),
	  "salvaged_stream completed", 0, 2, "retry 1", "retry 2", 3, .starts = "t1* t1* t2*", .differs = true },
	{ "answers that break three times in a row end the run",
	  S("use UnsafeA t1 | text x | cut", "use UnsafeA t2 | text x | stream overloaded_error Overloaded",
	    "use UnsafeA t3 | text x | cut", "text never"),
	  "salvaged_stream salvaged_stream model_error", 75, 3, "result t3 ok", "retry", 3, .starts = "t1* t2* t3*",
	  .differs = true },
	{ "and for good if the last error is permanent",
	  S("use UnsafeA t1 | text x | cut", "use UnsafeA t2 | text x | cut",
	    "use UnsafeA t3 | text x | stream invalid_request_error no", "text never"),
	  "salvaged_stream salvaged_stream model_error", 20, 3, "result t3 ok", "retry", 3, .differs = true },
	{ "a whole answer between them counts anew",
	  S("use UnsafeA t1 | text x | cut", "use UnsafeA t2 | text x | cut", "use SafeA t3",
	    "use UnsafeA t4 | text x | cut", "text done"),
	  "salvaged_stream salvaged_stream next_turn salvaged_stream completed", 0, 5, "result t4 ok", "retry", 5,
	  .differs = true },
	{ "silence behind a whole answer", S("text hi | stop end_turn | hang"), "completed", 0, 1,
	  "end completed 0 turns=1 hi", "retry", 1 },
	{ "silence behind a cut answer", S("use UnsafeA t1 | use UnsafeB t2 | stop max_tokens | hang", "text done"),
	  "next_turn completed", 0, 2, "result t1 ok", "assistant UnsafeB", 2 },
	{ "refusal after a call with effects", S("use UnsafeA t1 {\"ms\":5000} | text x | stop refusal"), "refusal", 22,
	  0, "side effect UnsafeA t1", "result", 1, .starts = "t1*", .differs = true },
	{ "refusal after one that is done", S("use UnsafeA t1 | text x | after 900 | stop refusal"), "refusal", 22, 0,
	  "side effect UnsafeA t1", "result", 1, .differs = true },
	{ "refusal after a read-only call", S("use SafeA t1 {\"ms\":5000} | text x | stop refusal"), "refusal", 22, 0,
	  "tombstone 1", "side effect", 1, .starts = "t1*" },
	{ "refusal in a stream that breaks", S("use UnsafeA t1 | text x | open | stop refusal | cut"), "refusal", 22, 0,
	  "side effect UnsafeA t1", NULL, 1, .differs = true },

	{ "what is already known to be declined is not started", S("burst | use UnsafeA t1 | text x | stop refusal"),
	  "refusal", 22, 0, NULL, "side effect", 1, .starts = "" },
	{ "nor what is already known to be broken", S("burst | use UnsafeA t1 | text x | cut", "text done"),
	  "completed", 0, 1, "tombstone 1", "result", 2, .starts = "" },
	{ "the last call of a declined answer is not started", S("use UnsafeA t1 | stop refusal"), "refusal", 22, 0,
	  NULL, "side effect", 1, .starts = "" },

	/* what hooks of calls say */
	{ "their context stands behind the results",
	  S("use SafeA t1 {\"context\":\"mind the gap\"} | use SafeB t2 {\"context\":\"and b\"}", "text done"),
	  "next_turn completed", 0, 2,
	  "user <system-reminder>\nHooks of the call t1 of SafeA:\nmind the "
	  "gap\n</system-reminder>\n<system-reminder>\n"
	  "Hooks of the call t2 of SafeB:\nand b\n</system-reminder>" },
	{ "it waits where nothing but results may stand",
	  S("server s1 | use SafeA t1 {\"context\":\"mind the gap\"}", "served | use SafeB t2", "text done"),
	  "next_turn next_turn completed", 0, 3, "user <system-reminder>\nHooks of the call t1 of SafeA:\nmind" },
	{ "a hook ends the run", S("use UnsafeA t1 {\"ends\":\"enough\"} | use SafeA t2", "text never"), "hook_stopped",
	  30, 1, "result t2 error <tool_use_error>Not run: a hook ended the run", NULL, 1 },
	{ "what runs already comes to its end",
	  S("use SafeA t1 {\"ms\":500} | use SafeB t2 {\"ends\":\"enough\"} | use UnsafeA t3", "text never"),
	  "hook_stopped", 30, 1, "result t1 ok", "result t3 ok", 1 },
	{ "while the answer still comes",
	  S("use UnsafeA t1 {\"ends\":\"enough\"} | after 500 | text x | use SafeA t2", "text never"), "hook_stopped",
	  30, 1, "result t2 error <tool_use_error>Not run: a hook", NULL, 1, .starts = "t1*", .differs = true },
	{ "no answer is asked for again",
	  S("use SafeA t1 {\"ends\":\"enough\"} | text x | after 500 | cut", "text never"), "hook_stopped", 30, 0,
	  "tombstone 1", "result", 1, .starts = "t1*", .differs = true },
	{ "nor gone on with", S("use UnsafeA t1 {\"ends\":\"enough\"} | text x | after 500 | cut", "text never"),
	  "hook_stopped", 30, 1, "result t1 ok", "tombstone", 1, .starts = "t1*", .differs = true },
	{ "nor is it given up on", /* it is the last of three attempts that broke */
	  S("text a | cut", "text a | cut", "use SafeA t1 {\"ends\":\"enough\"} | text x | after 500 | cut",
	    "text never"),
	  "hook_stopped", 30, 0, "tombstone 1", "assistant <synthetic>", 3, .differs = true },
	{ "a signal counts for more",
	  S("use SafeA t1 {\"ms\":90000} | use SafeB t2 {\"ends\":\"enough\"}", "text never"), "aborted_tools", 143, 1,
	  "result t1 error [Request", NULL, 1, .signal_at = 5000 },
	{ "a call that was denied late is not counted", S("use Refuse t1", "use SafeA t2", "text done"),
	  "next_turn next_turn completed", 0, 3, "denied Refuse", NULL, 3, .max_tool_calls = 1 },
	{ "nor named, nor a reason to keep an answer", S("use Refuse t1 | text x | after 500 | cut", "text done"),
	  "completed", 0, 1, "tombstone 1", "side effect", 2, .starts = "t1*", .differs = true },
	{ "it was ended before it could be", S("use Refuse t1 {\"ms\":90000}", "text never"), "aborted_tools", 143, 1,
	  "result t1 error [Request", "side effect", 1, .signal_at = 5000 },

	/* ends in the middle of a stream */
	{ "signal while a call with effects runs in the stream",
	  S("use UnsafeA t1 {\"ms\":90000} | use SafeA t2 | text x | after 90000 | text y"), "aborted_streaming", 143,
	  1, "result t2 error [Request interrupted", "tombstone", 1, .signal_at = 5000, .starts = "t1*",
	  .differs = true },
	{ "it is named", S("use UnsafeA t1 {\"ms\":90000} | text x | after 90000 | text y"), "aborted_streaming", 143,
	  1, "side effect UnsafeA t1", NULL, 1, .signal_at = 5000, .differs = true },
	{ "what was done before is told", S("use UnsafeA t1 | use UnsafeB t2 {\"ms\":90000} | text x | hang"),
	  "aborted_streaming", 40, 1, "result t1 ok", "tombstone", 1, .wall_ms = 5000, .differs = true },
	{ "signal while a read-only call runs in the stream",
	  S("use SafeA t1 {\"ms\":90000} | text x | after 90000 | text y"), "aborted_streaming", 143, 0, "tombstone 1",
	  "result", 1, .signal_at = 5000, .starts = "t1*", .differs = true },
	{ "signal while withdrawn calls are ended", S("use SafeA t1 {\"ms\":90000} | text x | cut", "text never"),
	  "aborted_streaming", 143, 0, "tombstone 1", "retry", 1, .signal_at = 1500, .differs = true },
};

static void configure(struct sim *s, const struct path *p)
{
	struct loop_config *c = &s->cfg;

	if (p->max_turns)
		c->max_turns = p->max_turns;
	c->token_budget = p->token_budget;
	c->max_cost_nano_usd = p->max_cost;
	c->max_requests = p->max_requests;
	c->max_tool_calls = p->max_tool_calls;
	c->max_output_tokens = p->max_output;
	if (p->retries)
		c->retry.max_retries = (int)p->retries;
	if (p->wall_ms) {
		c->wall_time_ms = p->wall_ms;
		c->deadline = c->started + p->wall_ms;
	}
	s->signal_at = p->signal_at;
	s->full_until = p->full_until;
}

static void play(struct sim *s, const struct path *p, bool batch)
{
	sim_init(s, p->script);
	configure(s, p);
	s->cfg.calls_wait = batch;
	sim_run(s, "do it");
	assert_string_equal(s->problem, "");
}

static void run_path(void **state)
{
	const struct path *p = *state;
	static struct sim s;

	play(&s, p, false);
	assert_trace(&s, p->trace);
	assert_int_equal(s.out.exit_code, p->exit_code);
	assert_turns(&s, p->turns);
	assert_shows(&s, p->shows);
	assert_hides(&s, p->hides);
	if (p->requests)
		assert_int_equal(s.requests, p->requests);
	if (p->starts)
		assert_string_equal(s.starts, p->starts);
	sim_release(&s);
}

/* When calls start is nobody's business but the clock's. */
static void run_in_batches(void **state)
{
	const struct path *p = *state;
	static struct sim s, batch;

	play(&s, p, false);
	play(&batch, p, true);
	if (!p->differs) {
		assert_int_equal(s.nlines, batch.nlines);
		for (size_t i = 0; i < s.nlines; i++)
			assert_string_equal(s.lines[i], batch.lines[i]);
	}
	sim_release(&s);
	sim_release(&batch);
}

static void cap_is_raised_for_good(void **state)
{
	static struct sim s;
	const char *const script[] = { "text a | stop max_tokens", "use SafeA t1", "text done", NULL };

	(void)state;
	sim_init(&s, script);
	sim_run(&s, "do it");
	assert_int_equal(s.max_tokens_sent[0], 8000);
	assert_int_equal(s.max_tokens_sent[1], 64000);
	assert_int_equal(s.max_tokens_sent[2], 64000);
	sim_release(&s);
}

static void stdout_gone_ends_the_run(void **state)
{
	static struct sim s;
	const char *const script[] = { "use SafeA t1", "use SafeA t2", "text done", NULL };

	(void)state;
	sim_init(&s, script);
	s.stdout_gone_at = 1030;
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_true(s.out.broken);
	assert_int_equal(s.out.exit_code, 1);
	assert_int_equal(s.requests, 1);
	sim_release(&s);
}

/* The line that tells of the retry is the first that nobody reads. */
static void stdout_gone_ends_a_backoff(void **state)
{
	static struct sim s;
	const char *const script[] = { "after 500 | http 429 rate_limit_error slow | retry-after 60000", "text never",
		                       NULL };

	(void)state;
	sim_init(&s, script);
	s.stdout_gone_at = 1200;
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_int_equal(s.requests, 1);
	assert_true(s.clock >= 1500); /* the attempt had failed */
	assert_true(s.clock < 2000);  /* and the minute that the server asked for was not waited */
	assert_true(s.out.broken);
	assert_int_equal(s.out.reason, TERM_INTERNAL_ERROR);
	assert_int_equal(s.out.exit_code, 1);
	sim_release(&s);
}

/* What runs beside it is ended, however long it would take. */
static void stdout_gone_ends_the_wait_for_calls(void **state)
{
	static struct sim s;
	const char *const script[] = { "use SafeA t1 {\"ms\":300} | use SafeB t2 {\"ms\":100000}", "text never", NULL };

	(void)state;
	sim_init(&s, script);
	s.stdout_gone_at = 1200;
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_non_null(sim_line(&s, "assistant SafeB t2"));
	assert_null(sim_line(&s, "result"));
	assert_int_equal(s.tool_runs, 2);
	assert_true(s.clock < 2000);
	assert_true(s.out.broken);
	assert_int_equal(s.out.reason, TERM_INTERNAL_ERROR);
	sim_release(&s);
}

/* Nothing starts then, but what ran before comes to its end, once. */
static void calls_end_while_the_output_is_full(void **state)
{
	static const char *const script[] = { "use UnsafeA t1 {\"ms\":200} | text x | after 900 | text y", "text done",
		                              NULL };
	static struct sim s;

	(void)state;
	sim_init(&s, script);
	s.full_from = 1100;
	s.full_until = 1500;
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_non_null(sim_line(&s, "result t1 ok"));
	sim_release(&s);
}

/* A call that cannot be started, as nobody is there to start it: nothing would end a wait for it. */
static void a_lost_supervisor_ends_the_run(void **state)
{
	static const char *const script[] = { "text x | use UnsafeA t1", NULL };
	static struct sim s;

	(void)state;
	sim_init(&s, script);
	s.supervisor_lost_at = 1;
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_string_equal(s.trace, "internal_error");
	sim_release(&s);
}

static void second_signal_skips_the_grace(void **state)
{
	static struct sim s;
	const char *const script[] = { "use Slow t1", NULL };

	(void)state;
	sim_init(&s, script);
	s.signal_at = 5000;
	s.second_signal_at = 5010;
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_int_equal(s.out.exit_code, 143);
	assert_true(s.clock < 5500);
	sim_release(&s);
}

int main(void)
{
	enum { NPATHS = sizeof paths / sizeof *paths };
	struct CMUnitTest tests[2 * NPATHS + 7];
	size_t n = 0;

	for (size_t i = 0; i < NPATHS; i++) {
		void *path = (void *)(uintptr_t)&paths[i];
		tests[n++] = (struct CMUnitTest){ paths[i].name, run_path, NULL, NULL, path };
		tests[n++] = (struct CMUnitTest){ "the same in batches", run_in_batches, NULL, NULL, path };
	}
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(cap_is_raised_for_good);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(stdout_gone_ends_the_run);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(stdout_gone_ends_a_backoff);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(stdout_gone_ends_the_wait_for_calls);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(calls_end_while_the_output_is_full);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_lost_supervisor_ends_the_run);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(second_signal_skips_the_grace);
	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
