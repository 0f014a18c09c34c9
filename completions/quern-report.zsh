#compdef quern-report
_arguments -s -S \
	'(-o --output)'{-o,--output}'[write the page there]:page:_files' \
	'(- *)'{-h,--help}'[tell the options]' \
	'(- *)'{-V,--version}'[tell the version]' \
	'1:events or bundle of a run:_files'
