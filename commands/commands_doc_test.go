package commands_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/verb"
)

const commandsDoc = "../docs/commands.md"

// docs/commands.md says what help says: it is made of the same descriptions.
func TestCommandsDoc(t *testing.T) {
	t.Parallel()
	got := documentCommands(verb.All())
	if *update {
		require.NoError(t, os.WriteFile(commandsDoc, []byte(got), 0o600))
	}
	want, err := os.ReadFile(commandsDoc)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s (go test ./commands -run TestCommandsDoc -update writes it again)", commandsDoc)
}

func documentCommands(all []*call.Command) string {
	var b strings.Builder
	b.WriteString(`# Commands

<!-- Written by go test ./commands -run TestCommandsDoc -update from the descriptions of the commands. Don't edit. -->

The same words, roles, guards and audit hold in Slack (` + "`/waf deny 203.0.113.7 for=4h`" + `, a mention, a button, a form) and in a terminal (` + "`wafbot deny 203.0.113.7 for=4h`" + `, which asks before
it changes anything, unless ` + "`-y`" + `). ` + "`help VERB`" + ` says the same of one verb.

- A line is a verb, its objects in order, and keys in any order. Quotes work as in a shell. Words in brackets may be left out.
- Durations: ` + "`30m 12h 7d 2w`" + ` or ` + "`forever`" + `. ` + "`for=4h`, `for 4h`, `for=4 hours`" + ` and ` + "`4h`" + ` mean the same. ` + "`reason=`" + ` takes all words up to the next key.
  The service's console lets a list entry live 5 minutes at least: a shorter ` + "`for=`" + ` is asked about, also with ` + "`-y`" + `.
- An application is an id or a configured name.
` + "- A path is that path alone: `/x/a` or `/x/a.php`. `/x/*` is one level below `/x/` without names that have an extension, `/x/*.php` those with this one, `/x/a.*` that name with any\n" +
		"  extension or none, `/x/*.*` all of these. `/x/**/*.*` is everything below `/x/`, `/**/login` that name at any depth. A place without a host is on every host.\n" + `- An id can be cut to any 4 or more characters that are unique. In a card's thread ` + "`attack=`" + ` is implied. A storm's id stands where an attack's does.
- ` + "`account=NAME`" + ` names the account where more than one is configured.
`)
	for _, part := range []struct {
		title   string
		changes bool
	}{{"To look", false}, {"To act", true}} {
		fmt.Fprintf(&b, "\n## %s\n\n| line | does | least role | also |\n|---|---|---|---|\n", part.title)
		for _, cmd := range all {
			if cmd.CanChange() == part.changes {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", cell(cmd.Usage()), cell(cmd.Summary), cmd.Role, strings.Join(cmd.Aliases, ", "))
			}
		}
	}
	b.WriteString("\n## Arguments\n")
	for _, cmd := range all {
		if len(cmd.Args) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n", cmd.Name)
		for _, arg := range cmd.Args {
			fmt.Fprintf(&b, "- `%s`: %s\n", arg.Name, arg.Help)
		}
		if cmd.Example != "" {
			fmt.Fprintf(&b, "\nExample: `%s`\n", cmd.Example)
		}
	}
	return b.String()
}

// cell is text that can stand in a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
