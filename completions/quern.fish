# fish completion for quern
function __quern_options
    quern --help 2>/dev/null | string match -ra -- '--[a-zA-Z][a-zA-Z-]+' | sort -u
end

complete -c quern -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__quern_options)'
complete -c quern -s o -l output-format -x -a 'stream-json json text'
complete -c quern -l permission-mode -x -a 'default acceptEdits bypassPermissions'
complete -c quern -l provider -x -a 'anthropic replay'
complete -c quern -l print-schema -x -a 'job events'
complete -c quern -l tools -x -a 'Read Grep Glob Edit Write Bash'
complete -c quern -s C -l cwd -x -a '(__fish_complete_directories)'
