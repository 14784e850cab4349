package main

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/verb"
)

// offered are the words that the program offers at the end of a line.
func offered(t *testing.T, line string) (words []string) {
	t.Helper()
	var out bytes.Buffer
	terminal{out: &out}.complete(described(), strings.Split(line, " "))
	for row := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(row, "\t")
		words = append(words, word)
	}
	return words
}

// described are the programs.
var described = sync.OnceValue(func() []*kong.Node {
	parser, err := newParser(&terminal{out: io.Discard, err: io.Discard})
	if err != nil {
		panic(err) // no program would run
	}
	return parser.Model.Children
})

func TestWordsAreCompleted(t *testing.T) {
	t.Parallel()
	for _, each := range []struct {
		line string
		want []string
	}{
		{"de", []string{"demo", "deny", "delete-rule"}},
		{"--v", []string{"--version"}},
		{"help compl", []string{"completion"}},
		{"help deny ", nil},
		{"no-such-verb ", nil},
		{"completion ", []string{"bash", "zsh", "fish"}},
		{"completion bash ", nil},
		{"config ", []string{"check", "schema", "show"}},
		{"config s", []string{"schema", "show"}},
		{"config check ", []string{anyFile}},
		{"config show wafbot.y", []string{anyFile}},
		{"config schema ", nil},
		{"config show --", []string{"--help"}},
		{"serve --", []string{"--config", "--help"}},
		{"serve --config ", []string{anyFile}},
		{"serve --config=wafbot.y", []string{anyFile}},
		{"demo --speed ", nil},
		{"verdict ", []string{"real", "false_positive", "test", "attack=", "account="}},
		{"verdict real ", []string{"attack=", "account="}},
		{"verdict real attack=ak7q2m9xw ac", []string{"account="}},
		{"deny 203.0.113.7 ", []string{"attack=", "for=", "app=", "reason=", "account="}},
		{"block 203.0.113.7 for=4h for", nil},
		{"deny 203.0.113.7 for=1", []string{"for=15m", "for=1h", "for=12h", "for=1d", "for=1w"}},
		{"deny 203.0.113.7 --s", []string{"--shared"}},
		{"mode 4 safe", []string{"safe_blocking"}},
		{"--json mode", nil}, // an option before the verb
		{"deny --from ", []string{anyFile}},
		{"deny --from targets 203.0.113.7 at", []string{"attack="}},
	} {
		require.Equal(t, each.want, offered(t, each.line), "%q", each.line)
	}
	require.Contains(t, offered(t, ""), "status")
	require.Equal(t, exitDone, typed(t, nil, completeWord).code)
	require.Contains(t, typed(t, nil, completeWord, "de").out, "deny\tput sources on the denylist")
}

func TestEveryArgumentIsCompletedWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	for _, cmd := range verb.All() {
		for _, name := range append(cmd.Aliases, cmd.Name) {
			for _, arg := range cmd.Args {
				if !arg.Object {
					require.Contains(t, offered(t, name+" "+arg.Name), arg.Name+"=")
					offered(t, name+" "+arg.Name+"=")
				}
			}
		}
	}
}

func TestCompletionIsForKnownShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := typed(t, nil, "completion", shell)
		require.Equal(t, exitDone, got.code)
		require.Contains(t, got.out, completeWord)
	}
	require.Equal(t, answered{exitUsage, "", "wafbot: <shell> must be one of \"bash\",\"zsh\",\"fish\" but got \"csh\"; wafbot completion --help says more\n"}, typed(t, nil, "completion", "csh"))
}

func TestVersionIsOneLine(t *testing.T) {
	t.Parallel()
	got := typed(t, nil, "version")
	require.Regexp(t, `^wafbot \S+ \(commit .*go1\..*\)\n$`, got.out)
	require.Equal(t, got, typed(t, nil, "--version"))
}
