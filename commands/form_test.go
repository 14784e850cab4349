package commands_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

func TestMissing(t *testing.T) {
	w := newWorld(t)
	for line, missing := range map[string]bool{
		"deny": true, "deny for=4h": true, "deny 203.0.113.7": false, "deny attack=ak7q2m9xw": false, "allow": true, "gray country:FR": false,
		"patch": true, "patch POST shop.example.com/login": true, "patch POST shop.example.com/login type=sqli part=get.q": false, "patch attack=ak7q2m9xw": false,
		"block-path POST shop.example.com/login": true, "block-path POST shop.example.com/login for=30m": false, "indicator User-Agent": true, "indicator User-Agent x": false,
		"mode": true, "mode Shop": false, "mode Shop block": false, "mute": true, "mute for=1h": true, "mute type=sqli": false, "extend c7k2m9xw4": true,
		"ack": true, "ack attack=ak7q2m9xw": false, "verdict attack=ak7q2m9xw": true, "note attack=ak7q2m9xw": true, "handover attack=ak7q2m9xw": true,
		"attack": true, "attack ak7q2m9xw": false, "status": false, "undo": false, "help": false, "nonsense": false, "delete-rule": true, "remove": true,
	} {
		l, err := grammar.Parse(line)
		require.NoError(t, err)
		require.Equal(t, missing, w.Missing(l, ""), line)
	}
	for line, missing := range map[string]bool{"deny": false, "ack": false, "verdict": true, "mute": false, "patch": false, "attack": false, "mode": true} {
		l, err := grammar.Parse(line)
		require.NoError(t, err)
		require.Equal(t, missing, w.Missing(l, "ak7q2m9xw"), "in a card's thread: %s", line)
	}
}

func TestALineMeansTheSameOutsideItsThread(t *testing.T) {
	w := newWorld(t)
	for line, want := range map[string]string{
		"verdict": "verdict attack=ak7q2m9xw", "attack": "attack ak7q2m9xw", "deny": "deny attack=ak7q2m9xw", "verdict attack=a1111": "verdict attack=a1111", "status": "status", "nonsense": "nonsense",
	} {
		l, err := grammar.Parse(line)
		require.NoError(t, err)
		require.Equal(t, want, w.InThread(l, "ak7q2m9xw").String())
		require.Equal(t, line, w.InThread(l, "").String())
	}
}

// formOf is the form that a user gets for a line.
func (w *world) formOf(who record.Actor, line string) (call.Form, error) {
	w.t.Helper()
	l, err := grammar.Parse(line)
	require.NoError(w.t, err)
	return w.Form(w.t.Context(), call.Invocation{Line: l, Actor: who, ID: line, At: w.clock()})
}

// heldBy is what a form's field holds.
func heldBy(t *testing.T, f call.Form, field string) []string {
	t.Helper()
	i := slices.IndexFunc(f.Fields, func(have call.Field) bool { return have.Name == field })
	require.GreaterOrEqual(t, i, 0, "%s is no field of %+v", field, f.Fields)
	return f.Fields[i].Values
}

// values is what a form holds, as if it were sent as it is.
func values(f call.Form) map[string][]string {
	all := map[string][]string{}
	for _, field := range f.Fields {
		all[field.Name] = field.Values
	}
	return all
}

func TestAFormHoldsWhatTheLineSays(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	for _, tt := range []struct{ line, field, want string }{
		{"deny attack=" + id, "sources", "203.0.113.7"}, {"deny attack=" + id, "for", "4h"},
		{"deny 198.51.100.4 country:FR proxy:TOR datacenter:aws 192.0.2.0/24 attack=" + id, "sources", "198.51.100.4"},
		{"deny 198.51.100.4 country:FR proxy:TOR datacenter:aws 192.0.2.0/24 attack=" + id, "countries", "FR"},
		{"deny 198.51.100.4 country:FR proxy:TOR datacenter:aws 192.0.2.0/24 attack=" + id, "proxies", "TOR"},
		{"deny 198.51.100.4 country:FR proxy:TOR datacenter:aws 192.0.2.0/24 attack=" + id, "datacenters", "aws"},
		{"deny 198.51.100.4 country:FR proxy:TOR datacenter:aws 192.0.2.0/24 attack=" + id, "addresses", "192.0.2.0/24"},
		{"deny what for=45m app=Shop", "addresses", "what"}, {"deny what for=45m app=Shop", "for", "45m"}, {"deny what for=45m app=Shop", "app", "4"},
		{"patch attack=" + id, "type", "sqli"}, {"patch attack=" + id, "part", "post.form_urlencoded.login"}, {"patch attack=" + id, "app", "4"},
		{"mode Shop", "app", "4"}, {"mode for=1h attack=" + id, "app", "4"}, {"indicator attack=" + id, "host", "shop.example.com"},
		{"indicator attack=" + id, "type", "vpatch"}, {"indicator", "type", "scanner"}, {"indicator attack=" + id + " type=scanner", "type", "scanner"},
		{"indicator X-Foo a.b", "header", "X-Foo"}, {"handover to=@U0ANN it burns", "message", "it burns"},
	} {
		f, err := w.formOf(ann, tt.line)
		require.NoError(t, err, tt.line)
		require.Equal(t, []string{tt.want}, heldBy(t, f, tt.field), "%s: %s", tt.line, tt.field)
	}
}

func TestAFilledFormIsALine(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	for _, tt := range []struct {
		line string
		fill map[string][]string
		want string
	}{
		{"deny attack=" + id, nil, "deny 203.0.113.7 account=acme attack=" + id + " for=4h"},
		{"deny attack=" + id, map[string][]string{"sources": {"198.51.100.4"}, "addresses": {"192.0.2.1,192.0.2.2; 192.0.2.3\n192.0.2.4"}, "countries": {"FR", "NL"}, "app": {"4", "7"}, "reason": {"x=1 --all"}},
			"deny 198.51.100.4 192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 country:FR country:NL account=acme app=4,7 attack=" + id + ` for=4h reason="x=1 --all"`},
		{"patch", map[string][]string{"target": {"POST shop.example.com/a;b,c"}, "type": {"sqli"}, "part": {"get.q"}}, "patch POST shop.example.com/a;b,c account=acme for=1w part=get.q type=sqli"},
		{"indicator", map[string][]string{"regex": {`curl/\d "x"`}}, `indicator User-Agent "curl/\\d \"x\"" account=acme for=4h type=scanner`},
		{"note attack=" + id, map[string][]string{"text": {"a\nb = c"}}, "note \"a\nb = c\" account=acme attack=" + id},
		{"mute attack=" + id, map[string][]string{"type": {"sqli"}}, "mute account=acme for=1h type=sqli"},
		{"mute attack=" + id, nil, "mute account=acme for=1h"},
	} {
		f, err := w.formOf(ann, tt.line)
		require.NoError(t, err, tt.line)
		filled := values(f)
		for field, value := range tt.fill {
			heldBy(t, f, field)
			filled[field] = value
		}
		line, err := form.Fill(f, filled)
		require.NoError(t, err, tt.line)
		require.Equal(t, tt.want, line.String())
	}
}

func TestWhatAFormLacksIsSaidAtItsField(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	for _, tt := range []struct {
		line  string
		fill  map[string][]string
		field string
	}{
		{"deny attack=" + id, map[string][]string{"sources": nil}, "sources"}, // never the top source by itself
		{"deny", nil, "addresses"},
		{"mute", nil, "attack"},
		{"note attack=" + id, nil, "text"},
		{"mode", map[string][]string{"app": {"4"}}, "mode"},
	} {
		f, err := w.formOf(ann, tt.line)
		require.NoError(t, err, tt.line)
		filled := values(f)
		for field, value := range tt.fill {
			filled[field] = value
		}
		_, err = form.Fill(f, filled)
		var refusal *refusal.Refusal
		require.ErrorAs(t, err, &refusal, tt.line)
		require.Equal(t, tt.field, form.FieldOf(f, refusal, filled), tt.line)
	}
}

func TestWhatIsWrongInAFormIsSaidAtItsField(t *testing.T) {
	w := newWorld(t, sources(source("our CDN", "", "192.0.2.0/24")))
	for _, tt := range []struct {
		line  string
		fill  map[string][]string
		field string
	}{
		{"deny", map[string][]string{"addresses": {"198.51.100.x"}}, "addresses"},
		{"deny", map[string][]string{"addresses": {"198.51.100.9 192.0.2.7"}, "countries": {"FR"}}, "addresses"},
		{"deny", map[string][]string{"addresses": {"198.51.100.9"}, "for": {"1y"}}, "for"},
		{"block-path", map[string][]string{"method": {"POST"}, "place": {"nowhere"}, "for": {"30m"}}, "place"},
		{"patch", map[string][]string{"target": {"nowhere"}, "type": {"sqli"}, "part": {"uri"}}, "target"},
		{"patch", map[string][]string{"target": {"shop.example.com/a"}, "type": {"sqli"}, "part": {"nonsense"}}, "part"},
		{"remove", map[string][]string{"entry": {"99999"}}, "entry"},
		{"extend", map[string][]string{"change": {"c12345"}, "for": {"1h"}}, "change"},
		{"approve", map[string][]string{"request": {"r12345"}}, "request"},
	} {
		f, err := w.formOf(root, tt.line)
		require.NoError(t, err)
		filled := values(f)
		for field, value := range tt.fill {
			filled[field] = value
		}
		line, err := form.Fill(f, filled)
		require.NoError(t, err)
		_, err = w.Do(t.Context(), call.Invocation{Line: line, Actor: root, ID: "look", At: w.clock(), Ask: true})
		var refusal *refusal.Refusal
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, tt.field, form.FieldOf(f, refusal, filled), refusal.Error())
	}
	require.Zero(t, w.changesSent())
}

func TestWhoMayNotActGetsNoForm(t *testing.T) {
	w := newWorld(t)
	_, err := w.formOf(eve, "deny")
	require.ErrorIs(t, err, refusal.ErrDenied)
	require.Contains(t, w.lastAudit().Why, "needs the role responder")
	_, err = w.formOf(ann, "block-path")
	require.ErrorIs(t, err, refusal.ErrDenied)
	off := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesOff })
	_, err = off.formOf(ann, "deny")
	require.ErrorIs(t, err, refusal.ErrGuarded)
	_, err = off.formOf(ann, "ack")
	require.NoError(t, err, "who is on it is no change of the service")
	_, err = w.formOf(ann, "deny attack=a0000")
	require.True(t, errors.Is(err, refusal.ErrUsage), "%v", err)
}

func TestCountriesAreRealOnes(t *testing.T) {
	w := newWorld(t)
	f, err := w.formOf(ann, "deny")
	require.NoError(t, err)
	i := slices.IndexFunc(f.Fields, func(have call.Field) bool { return have.Name == "countries" })
	codes := map[string]string{}
	groups := map[string]int{}
	for _, o := range f.Fields[i].Options {
		codes[o.Value] = o.Label
		groups[o.Group]++
	}
	require.Greater(t, len(codes), 240)
	require.Equal(t, "France (FR)", codes["FR"])
	require.Contains(t, codes, "GB")
	require.NotContains(t, codes, "UK")
	for group, n := range groups {
		require.LessOrEqual(t, n, 100, group)
	}
}

// Of 150 applications the last one can be chosen, too; of very many one is typed.
func TestEveryApplicationCanBeChosen(t *testing.T) {
	for n, choices := range map[int]int{0: 0, 150: 150, 1001: 0} {
		w := newWorld(t, func(c *commands.Config) {
			c.Accounts[0].Applications = map[int]config.Application{}
			for i := range n {
				c.Accounts[0].Applications[i+1] = config.Application{}
			}
		})
		f, err := w.formOf(ann, "deny 198.51.100.9 app=150")
		require.NoError(t, err)
		i := slices.IndexFunc(f.Fields, func(have call.Field) bool { return have.Name == "app" })
		require.Len(t, f.Fields[i].Options, choices)
		require.Equal(t, []string{"150"}, f.Fields[i].Values)
	}
}

// A fact that a form only shows keeps no user waiting for long.
func TestAFormDoesntWaitForAServiceThatHangs(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.fault("GET /v1/objects/hint", "hang", 0)
		w.fault("POST /v1/objects/hint", "hang", 0)
		begun := time.Now()
		f, err := w.formOf(ann, "mode Shop")
		require.NoError(t, err)
		require.Less(t, time.Since(begun), 5*time.Second)
		require.Contains(t, f.Intro[0].String(), "doesn't say the present mode")
	})
}

// What is cut short because Slack waits is carried out all the same, so it is no failure.
func TestALookThatIsCutShortIsNotRecorded(t *testing.T) {
	w := newWorld(t)
	line, err := grammar.Parse("deny 198.51.100.9")
	require.NoError(t, err)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.Do(over, call.Invocation{Line: line, Actor: ann, ID: "look", At: w.clock(), Ask: true})
	require.Error(t, err)
	require.Empty(t, w.out.String())
}

// What is about no field, as that the service answers nothing, isn't shown at one.
func TestWhatIsAboutNoFieldIsShownAtNone(t *testing.T) {
	w := newWorld(t)
	f, err := w.formOf(ann, "deny")
	require.NoError(t, err)
	require.Empty(t, form.FieldOf(f, &refusal.Refusal{}, map[string][]string{"addresses": {"198.51.100.9"}}))
	require.Equal(t, "for", form.FieldOf(f, &refusal.Refusal{Arg: "for", Value: "x"}, map[string][]string{"addresses": {"x"}, "for": {"y"}}))
}

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

// A new command is a text, a row and a file. CONTRIBUTING shows real ones, whole.
func TestTheExampleOfACommandIsReal(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}
	guide := read("../CONTRIBUTING.md")
	require.Contains(t, guide, "```go\n"+read("verb/verdict.go")+"```",
		"CONTRIBUTING.md shows another verdict.go than there is: copy it again")
	for file, head := range map[string]string{"verb/verbs.txt": "```\nverdict: ", "verb/verb.go": "```go\n\"verdict\":"} {
		at := strings.Index(guide, head)
		require.GreaterOrEqual(t, at, 0, file)
		_, shown, _ := strings.Cut(guide[at:], "\n")
		shown, _, _ = strings.Cut(shown, "\n```")
		require.Equal(t, 1, strings.Count(read(file), shown+"\n"), "CONTRIBUTING.md shows another part of %s", file)
	}
	files, err := filepath.Glob("verb/*.go")
	require.NoError(t, err)
	others := slices.DeleteFunc(files, func(f string) bool { return f == "verb/verdict.go" || f == "verb/verb.go" })
	require.NotEmpty(t, others)
	for _, file := range others {
		require.NotContains(t, read(file), "writeVerdict", file)
	}
}
