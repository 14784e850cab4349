# Completion of wafbot's words in bash, from: wafbot completion bash
# wafbot itself says what may follow: a word a line, then a tab and what it means; :files for the name of a file.
_wafbot() {
	local line=${COMP_LINE:0:COMP_POINT} word meaning kept
	local -a words
	read -ra words <<<"$line"
	if [[ $line == *[[:space:]] ]]; then words+=(""); fi
	# bash takes = and : for the ends of words, and replaces only what follows them: that is its second argument.
	word=${words[-1]} kept=
	if [[ $word == *[=:] ]]; then
		kept=$word
	elif [[ $word == *[=:]* ]]; then
		kept=${word%"$2"}
	fi
	COMPREPLY=()
	while IFS=$'\t' read -r word meaning; do
		case $word in
		:files)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -f -- "$2")
			return
			;;
		*=) compopt -o nospace ;;
		esac
		COMPREPLY+=("${word#"$kept"}")
	done < <("$1" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _wafbot wafbot
