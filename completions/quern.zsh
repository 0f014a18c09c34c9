#compdef quern
# Made from the option table of quern by `make update-docs`; do not edit.
_arguments \
	'-p[the task]:TEXT:' \
	'--prompt=[the task]:TEXT:' \
	'--print[means nothing\: every run is one task, printed]' \
	'-n[leave stdin alone]' \
	'--no-stdin[leave stdin alone]' \
	'--system-prompt=[system prompt in place of the built-in one; empty for none]:TEXT:' \
	'--append-system-prompt=[text added to the system prompt]:TEXT:' \
	'*--memory=[what is told of the project first\: a file, or auto for AGENTS.md, else CLAUDE.md; may be repeated]:FILE:_files' \
	'*--attach=[a file to go with the task, or a pattern of such; may be repeated]:FILE:_files' \
	'--mentions[attach each file that the task names as @PATH]' \
	'--input-format=[what stdin is\: the task'\''s text, or messages as lines of JSON]:FORMAT:(text stream-json)' \
	'-m[the model]:NAME:' \
	'--model=[the model]:NAME:' \
	'--fallback-model=[models to go on with, in this order, when one is overloaded three times in a row]:LIST:' \
	'--provider=[who answers\: the Anthropic API, or a tape]:NAME:(anthropic replay)' \
	'--base-url=[where requests go]:URL:' \
	'-C[the workspace\: where tools start and may write]:DIR:_files -/' \
	'--cwd=[the workspace\: where tools start and may write]:DIR:_files -/' \
	'*--add-dir=[a further directory the tools may use; may be repeated]:DIR:_files -/' \
	'-t[most answers of the model]:N:' \
	'--max-turns=[most answers of the model]:N:' \
	'-b[most tokens of all requests together (500k, 5M)]:N:' \
	'--token-budget=[most tokens of all requests together (500k, 5M)]:N:' \
	'--max-budget-usd=[most dollars to spend (2.50)]:X:' \
	'--wall-time=[longest time the run may take (90s, 15m, 2h); 0 = no limit]:DURATION:' \
	'--token-target=[tokens of answers that the task may well take\: a model that stops before is asked to go on; 0 = none]:N:' \
	'--tools=[the tools offered to the model]:LIST:(Read Write Edit Glob Grep Bash TodoWrite)' \
	'--allowedTools=[what may run, such as Bash(make *)]:RULES:' \
	'--allowed-tools=[what may run, such as Bash(make *)]:RULES:' \
	'--disallowedTools=[what may not run; wins over ask and allow]:RULES:' \
	'--disallowed-tools=[what may not run; wins over ask and allow]:RULES:' \
	'--permission-mode=[what runs without a rule\: reading, edits too, or everything]:MODE:(default acceptEdits plan dontAsk bypassPermissions manual)' \
	'--dangerously-skip-permissions[the mode bypassPermissions]' \
	'--sandbox=[what tools can write\: workspace and added directories, their TMPDIR alone, or everything]:MODE:(workspace-write read-only off)' \
	'--settings=[settings.json, or its text\: hooks, permissions and env count]:FILE:_files' \
	'--setting-sources=[which of Claude Code'\''s own settings files count too]:LIST:(user project local)' \
	'--bare[means nothing\: nothing is picked up unasked]' \
	'-o[events as they come, the result alone, or the answer'\''s text]:FORMAT:(stream-json json text)' \
	'--output-format=[events as they come, the result alone, or the answer'\''s text]:FORMAT:(stream-json json text)' \
	'--include-partial-messages[pieces of answers as they arrive]' \
	'--include-hook-events[an event for each start and each end of a hook]' \
	'--replay-user-messages[show each message that stdin brought when it is taken]' \
	'--events=[file that the events are appended to]:FILE:_files' \
	'--record=[file that the whole run goes into, a tar compressed by zstd]:FILE:_files' \
	'--replay=[answers come from this tape or bundle, not from a model]:FILE:_files' \
	'--replay-tools[results of tools come from the bundle, too\: nothing is run]' \
	'--replay-strict[requests must be those of the bundle byte for byte]' \
	'--resume=[go on with the run that this record is of]:FILE:_files' \
	'--run-dir=[directory for outputs that are too large for an event]:DIR:_files -/' \
	'-q[errors alone on stderr]' \
	'--quiet[errors alone on stderr]' \
	'-v[requests and transitions on stderr (-v as the only word\: the version)]' \
	'--verbose[requests and transitions on stderr (-v as the only word\: the version)]' \
	'--set=[any key of a job file, as in --set limits.max_requests=50]:KEY=VALUE:' \
	'--check[read options and job, print what would run, send nothing]' \
	'--print-schema=[print the JSON Schema of job files or of events]:NAME:(job events)' \
	'-h[print the options and the exit codes]' \
	'--help[print the options and the exit codes]' \
	'-V[print name and version]' \
	'--version[print name and version]' \
	'1:job file:_files'
