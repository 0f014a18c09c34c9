# Made from the option table of quern by `make update-docs`; do not edit.
_quern()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	[[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[[ $cur != = ]] || cur=
	COMPREPLY=()
	case $prev in
	--prompt | -p)
		:
		return ;;
	--system-prompt)
		:
		return ;;
	--append-system-prompt)
		:
		return ;;
	--memory)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--attach)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--input-format)
		mapfile -t COMPREPLY < <(compgen -W 'text stream-json' -- "$cur")
		return ;;
	--model | -m)
		:
		return ;;
	--fallback-model)
		:
		return ;;
	--provider)
		mapfile -t COMPREPLY < <(compgen -W 'anthropic replay' -- "$cur")
		return ;;
	--base-url)
		:
		return ;;
	--cwd | -C)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	--add-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	--max-turns | -t)
		:
		return ;;
	--token-budget | -b)
		:
		return ;;
	--max-budget-usd)
		:
		return ;;
	--wall-time)
		:
		return ;;
	--token-target)
		:
		return ;;
	--tools)
		mapfile -t COMPREPLY < <(compgen -W 'Read Write Edit Glob Grep Bash TodoWrite' -- "$cur")
		return ;;
	--allowedTools | --allowed-tools)
		:
		return ;;
	--disallowedTools | --disallowed-tools)
		:
		return ;;
	--permission-mode)
		mapfile -t COMPREPLY < <(compgen -W 'default acceptEdits plan dontAsk bypassPermissions manual' -- "$cur")
		return ;;
	--sandbox)
		mapfile -t COMPREPLY < <(compgen -W 'workspace-write read-only off' -- "$cur")
		return ;;
	--settings)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--setting-sources)
		mapfile -t COMPREPLY < <(compgen -W 'user project local' -- "$cur")
		return ;;
	--output-format | -o)
		mapfile -t COMPREPLY < <(compgen -W 'stream-json json text' -- "$cur")
		return ;;
	--events)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--record)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--replay)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--resume)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--run-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	--set)
		:
		return ;;
	--print-schema)
		mapfile -t COMPREPLY < <(compgen -W 'job events' -- "$cur")
		return ;;
	esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--prompt --print --no-stdin --system-prompt --append-system-prompt --memory --attach --mentions --input-format --model --fallback-model --provider --base-url --cwd --add-dir --max-turns --token-budget --max-budget-usd --wall-time --token-target --tools --allowedTools --allowed-tools --disallowedTools --disallowed-tools --permission-mode --dangerously-skip-permissions --sandbox --settings --setting-sources --bare --output-format --include-partial-messages --include-hook-events --replay-user-messages --events --record --replay --replay-tools --replay-strict --resume --run-dir --quiet --verbose --set --check --print-schema --help --version' -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -o filenames -F _quern quern
