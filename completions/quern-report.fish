complete -c quern-report -s o -l output -r -F -d 'write the page there'
complete -c quern-report -s h -l help -d 'tell the options'
complete -c quern-report -s V -l version -d 'tell the version'
