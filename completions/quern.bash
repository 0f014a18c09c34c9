# bash completion for quern
# shellcheck shell=bash disable=SC2207

_quern() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $prev in
	-o | --output-format) COMPREPLY=($(compgen -W 'stream-json json text' -- "$cur")) ;;
	--permission-mode) COMPREPLY=($(compgen -W 'default acceptEdits bypassPermissions' -- "$cur")) ;;
	--provider) COMPREPLY=($(compgen -W 'anthropic replay' -- "$cur")) ;;
	--print-schema) COMPREPLY=($(compgen -W 'job events' -- "$cur")) ;;
	--tools | --allowedTools | --allowed-tools | --disallowedTools | --disallowed-tools)
		COMPREPLY=($(compgen -W 'Read Grep Glob Edit Write Bash' -- "$cur"))
		;;
	-C | --cwd | --add-dir | --run-dir) COMPREPLY=($(compgen -d -- "$cur")) ;;
	--events | --replay) COMPREPLY=($(compgen -f -- "$cur")) ;;
	*)
		case $cur in
		-*) COMPREPLY=($(compgen -W "$(quern --help 2>/dev/null | grep -oE -- '--[a-zA-Z][a-zA-Z-]+' | sort -u)" -- "$cur")) ;;
		*) COMPREPLY=($(compgen -f -X '!*.@(yaml|yml)' -- "$cur") $(compgen -d -- "$cur")) ;;
		esac
		;;
	esac
}

complete -F _quern quern
