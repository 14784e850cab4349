#compdef wafbot
# Completion of wafbot's words in zsh, from: wafbot completion zsh
# wafbot itself says what may follow: a word a line, then a tab and what it means; :files for the name of a file.
_wafbot() {
	local line word
	local -a whole begun
	for line in "${(@f)$(${(Q)words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
		word=${line%%$'\t'*}
		case $word in
		"") ;;
		:files)
			compset -P '*='
			_files
			return
			;;
		*=) begun+=("${word//:/\\:}:${line#*$'\t'}") ;;
		*) whole+=("${word//:/\\:}:${line#*$'\t'}") ;;
		esac
	done
	_describe -t words wafbot whole -- begun -S ''
}
if [[ $funcstack[1] == _wafbot ]]; then
	_wafbot
else
	compdef _wafbot wafbot
fi
