package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/verb"
)

var updateMan = flag.Bool("update", false, "write docs/wafbot.1")

const manPage = "../../docs/wafbot.1"

// The man page says what help says: it is made of the same descriptions.
func TestManPage(t *testing.T) {
	t.Parallel()
	got := documentProgram(described())
	if *updateMan {
		require.NoError(t, os.WriteFile(manPage, []byte(got), 0o600))
	}
	want, err := os.ReadFile(manPage)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s (go test ./cmd/wafbot -run TestManPage -update writes it again)", manPage)
}

// roff makes any text safe to stand in a line of the page, and keeps its dashes to be copied.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

// entry is a term and what it means.
func entry(b *strings.Builder, term, means string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(term), roff(means))
}

func documentProgram(programs []*kong.Node) string {
	var b strings.Builder
	b.WriteString(`.\" Written by go test ./cmd/wafbot -run TestManPage -update from the descriptions of the commands. Don't edit.
.TH WAFBOT 1 "" wafbot "User Commands"
.SH NAME
wafbot \- bring attacks on a cloud WAF to Slack and carry out what people decide there
.SH SYNOPSIS
.B wafbot
.I PROGRAM
.RI [ OPTIONS ]
.br
.B wafbot
.I VERB
.RI [ OBJECT .\|.\|.]
.RI [ KEY = VALUE .\|.\|.]
.RI [ OPTIONS ]
.SH DESCRIPTION
A Slack bot for on\-call engineers: see each attack on your cloud WAF, stop it from Slack, undo it.
A program runs or checks the bot.
Every other word is a verb of the bot, with the same words, roles, guards and audit as in Slack.
It asks before it changes anything, unless told
.BR \-\-yes .
.SH PROGRAMS
`)
	for _, p := range programs {
		documentNode(&b, "", p)
	}
	b.WriteString(".SH VERBS\nKeys stand in any order, quotes work as in a shell. Words in brackets may be left out.\n")
	for _, cmd := range verb.All() {
		entry(&b, cmd.Usage(), cmd.Summary)
		b.WriteString(".RS\n")
		for _, arg := range cmd.Args {
			entry(&b, arg.Name, arg.Help)
		}
		for _, also := range cmd.Aliases {
			entry(&b, "Also "+also, "the same")
		}
		b.WriteString(".RE\n")
	}
	b.WriteString(".SH OPTIONS OF A VERB\n")
	for _, o := range options() {
		entry(&b, o.String(), o.Help)
	}
	b.WriteString(`.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
failed, refused or waiting, or doctor found something wrong
.TP
.B 2
wrong usage, a bad configuration, or a question without a terminal to ask
.SH FILES
.TP
.I /etc/wafbot/wafbot.env
the environment of the service that the Debian package installs
.SH SEE ALSO
.UR https://github.com/wafbot/wafbot
The documentation
.UE
`)
	return b.String()
}

// documentNode writes about a program, or about each of those that it consists of.
func documentNode(b *strings.Builder, before string, n *kong.Node) {
	for _, child := range n.Children {
		documentNode(b, before+n.Name+" ", child)
	}
	if len(n.Children) > 0 {
		return
	}
	words := []string{before + n.Name}
	for _, p := range n.Positional {
		words = append(words, p.Summary())
	}
	entry(b, strings.Join(words, " "), n.Help)
	b.WriteString(".RS\n")
	for _, f := range n.Flags {
		term := "--" + f.Name
		if !f.IsBool() {
			term += "=" + f.FormatPlaceHolder()
		}
		entry(b, term, f.Help)
	}
	b.WriteString(".RE\n")
}
