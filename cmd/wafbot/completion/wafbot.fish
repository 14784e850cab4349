# Completion of wafbot's words in fish, from: wafbot completion fish
# wafbot itself says what may follow: a word a line, then a tab and what it means; :files for the name of a file.
function __wafbot_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$word" 2>/dev/null)
        if string match -q ':files*' -- $line
            set -l option (string match -r '^--[^=]*=' -- $word)
            printf "$option%s\n" (__fish_complete_path (string replace -r '^--[^=]*=' '' -- $word))
        else
            echo $line
        end
    end
end
complete -c wafbot -f -a '(__wafbot_complete)'
