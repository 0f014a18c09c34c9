/* What the man page says of some keys behind their line of help. Nothing of the program itself reads it. */
#include "job/docs.h"

const struct job_note job_notes[] = {
	{ "prompt", "Without it stdin is the task, see STDIN. A next word that begins with a dash is refused, so that "
	            "the content of a variable cannot pass for an option: write --prompt=TEXT" },
	{ "-", "Of -n and - the last counts; both win over the job's stdin" },
	{ "stdin", "Without it the rules under STDIN hold" },
	{ "memory", "See MEMORY AND ATTACHMENTS" },
	{ "attach", "See MEMORY AND ATTACHMENTS" },
	{ "mentions", "Without it such a word is text like any other" },
	{ "input_format", "See INPUT STREAM" },
	{ "model.price", "It is the price of the model, whatever the catalog says, and of each other model of the run "
	                 "whose price is not known. A thousandth of a dollar is the finest step" },
	{ "model.fallback", "See CONTEXT WINDOW. Also when an overload is the last failure that would be retried. Each "
	                    "is gone on with at most once; none may stand there twice" },
	{ "model.base_url", "A path of /v1 at its end may be left out. Plain http:// sends the key in clear" },
	{ "model.max_retry_wait", "A longer wait ends the run at once, with exit 75" },
	{ "model.api_key_env", "If another name is given, that variable must be set" },
	{ "model.api_key_file", "It comes behind QUERN_API_KEY and before the variable" },
	{ "model.headers", "Headers that frame the request are refused too" },
	{ "model.extra",
	  "A field that quern makes itself (model, messages, stream, system, tools, max_tokens) is an error" },
	{ "context.window", "If it is not known, the conversation is made smaller when the API refuses it, by what "
	                    "that says of the window" },
	{ "context.microcompact_at", "Of this and the other marks see CONTEXT WINDOW" },
	{ "context.summary_model", "Without it such lines are made of the names of the calls. Its requests count in "
	                           "the limits, and none begins in the last tenth of one; they are not waited for, and "
	                           "after three in a row that came to nothing no more are made" },
	{ "workspace.dir", "The model sees its real path" },
	{ "workspace.save",
	  "It is written when all processes of the run have ended, however the run ended. If anything is gone, or "
	  "became something else, it begins with a file .quern-deleted, which has these names with a NUL behind each: "
	  "remove them (xargs -0 rm -df), then unpack the rest over the files as they were. Files, directories and "
	  "symbolic links count, with their modes; owners and extended attributes do not. Our own output files are "
	  "left out. A run that goes on from its record (resume) "
	  "tells what changed since the session began, or since a run of it completed. "
	  "Alone, without a patch, a transaction or a record, it reads no file to compare it: one counts as "
	  "changed if its size, times or inode are others, even if it was written again as it was" },
	{ "record", "See REPLAY. All files of the workspace are read before and after the run, for their sums; output "
	            "of a build is best kept out of a large workspace" },
	{ "workspace.patch",
	  "Likewise. For it the workspace is copied when the run begins, so that there is something to compare with. "
	  "Left out are empty directories, modes but for the execute bit, what lies in a .git, and files over 256 MiB, "
	  "which are counted in the result and named in the patch" },
	{ "workspace.transaction",
	  "The copy lies in a directory .NAME.quern-XXXXXX beside the workspace, where it shares its blocks with it if "
	  "the file system can do that, or in TMPDIR if nothing can be made there; its path is the cwd of the init "
	  "event. Only when the run ends as completed is the workspace changed: if a file that the run changed is not "
	  "what it was any more, or if there is no room, nothing is, and the run ends as internal_error; else each "
	  "file is put in place by a rename, and what is gone is removed last. Changed files keep owner, access "
	  "control list and user attributes (not those of security.*). What is one file with several names (hard "
	  "links) in the workspace is that in the copy and behind the commit; its names outside of the workspace keep "
	  "the content that was. A directory of yours that is read-only is made writable for the moment of the commit. "
	  "Sockets, fifos and devices are left out. After any other end the workspace is as it was, and what was done "
	  "is in changes.tar.zst in the run directory, which the result names, or a line on stderr if the output "
	  "format is text; a run that goes "
	  "on from its record (resume) has it again, in a copy with the same path if that is free. The copy stays "
	  "until the result is out: a run that is killed before leaves it, and it is gone on with likewise; one that "
	  "is killed while it commits leaves each file old or new, and a directory .quern-commit-ID "
	  "in the workspace: the run that goes on finishes the commit first and removes it, and leaves the patch that "
	  "was written before as it is. The next run with a "
	  "transaction removes such copies, unless there is work in them that the workspace does not have, and such "
	  "directories (-v says which). Paths of the workspace in the prompt still mean the original, which tools "
	  "cannot write in a sandbox" },
	{ "env", "They win over what is inherited" },
	{ "limits.max_turns",
	  "The answers that were taken into the conversation count; those that were withdrawn and repeated do not" },
	{ "limits.token_budget",
	  "Input, output, cache reads and cache writes count, those of failed attempts too as far as they are known" },
	{ "limits.max_cost_usd",
	  "Counted by list prices, or by model.price; an error for a model whose price is not known" },
	{ "limits.token_target", "See VERIFICATION AND TARGETS" },
	{ "limits.max_stop_blocks", "One more ends the run with stop_blocks_exhausted" },
	{ "limits.wall_time", "It runs from the start of the program, so waiting for stdin counts" },
	{ "limits.max_requests", "When it is reached the run ends with budget_exhausted" },
	{ "limits.max_tool_calls", "A call beyond it gets an error result; the run goes on to an answer without tools, "
	                           "or ends with budget_exhausted" },
	{ "limits.run_dir_bytes", "What does not fit is cut and said to be cut" },
	{ "limits.archive_bytes", "Nor do more than 1000 bytes come of each byte of it, once 64 MiB are out; "
	                          "and no file of it may have more than 4 GiB" },
	{ "tools.builtin", "An empty list offers none. A tool that is named here and could not run is an error" },
	{ "tools.executor", "Results and their order are the same" },
	{ "tools.max_spill",
	  "The end of a larger output is lost, its first and last part are still shown to the model" },
	{ "tools.external", "See EXTERNAL TOOLS" },
	{ "permissions.allow",
	  "See PERMISSIONS for the rules; several are separated by commas or spaces outside parentheses" },
	{ "permissions.deny", "It holds in every mode" },
	{ "permissions.mode", "See PERMISSIONS" },
	{ "permissions.on_denied",
	  "With fail the run ends with exit status 32 after the results of that answer; no tool is withheld" },
	{ "sandbox.mode", "See SANDBOX" },
	{ "sandbox.network", "Local sockets stay closed: services behind them would act outside the sandbox" },
	{ "sandbox.write", "Each must exist. Read, Edit and Write do not reach them, programs do" },
	{ "sandbox.read_deny", "They need not exist yet" },
	{ "sandbox.hooks",
	  "With false they may do what the user may, and none of their programs may lie where tools can write" },
	{ "hooks", "See HOOKS" },
	{ "settings", "See SETTINGS FILES" },
	{ "setting_sources", "See SETTINGS FILES" },
	{ "hook_failure", "A hook's own onFailure wins over it" },
	{ "verify.command", "No shell reads them. See VERIFICATION AND TARGETS" },
	{ "hooks.async", "It is ended with the run" },
	{ "hooks.timeout", "600 seconds, but 30 for UserPromptSubmit, and 1.5 for all of SessionEnd together" },
	{ "sandbox.max_processes",
	  "Over it the call that has most of them is ended with all that it started, and its result says so" },
	{ "output.format", "See OUTPUT" },
	{ "output.hook_events", "Without it only those are told that object or fail" },
	{ "output.partial", "They come as stream_event lines, with the output format stream-json only" },
	{ "events",
	  "It gets every line whatever goes to stdout, and is made for its owner only if it is missing. It must not be "
	  "the file that stdout goes to, nor one that the job names for something else, but for resume" },
	{ "replay", "A tape is written by hand, or is what a run wrote to stdout or --events; see quern-tape(5). A "
	            "bundle is what --record wrote; see REPLAY. Neither needs a key or a network" },
	{ "resume", "What a run wrote to stdout or --events, or a bundle. Without it, or with an empty one, the run "
	            "begins anew. See GOING ON" },
	{ "run_dir", "See FILES" },
	{ "--set", "Members of maps are set one by one, as in --set env.LANG=C" },
	{ "--check", "It needs no key, does not read stdin and writes no result. What is printed is itself a job file, "
	             "in which values that may be secret are left out" },
	{ "tools.external.command",
	  "No shell reads them. A name without a slash is looked up in PATH, a relative path in the workspace" },
	{ "tools.external.input_schema",
	  "Its type is object. A call that does not fit is answered with what is wrong, and nothing runs" },
};

const size_t job_note_count = sizeof job_notes / sizeof *job_notes;
