package commands_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/record"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]record.Line{
		"":                     {Name: "status"},
		"  \t ":                {Name: "status"},
		"STATUS --all":         {Name: "status", Flags: []string{"all"}},
		"status —all":          {Name: "status", Flags: []string{"all"}},
		"status –all --ALL":    {Name: "status", Flags: []string{"all"}},
		"deny 203.0.113.7":     {Name: "deny", Words: []string{"203.0.113.7"}},
		"Delete-Rule 12":       {Name: "delete-rule", Words: []string{"12"}},
		"Ban for=4h 192.0.2.1": {Name: "ban", Words: []string{"192.0.2.1"}, Keys: map[string]string{"for": "4h"}},
		`deny reason="it is Anna's" 192.0.2.1 FOR=4h`: {Name: "deny", Words: []string{"192.0.2.1"},
			Keys: map[string]string{"for": "4h", "reason": "it is Anna's"}},
		"deny 192.0.2.1 reason=“curly ones”":           {Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"reason": "curly ones"}},
		"deny 192.0.2.1 reason=‘single curly’":         {Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"reason": "single curly"}},
		"deny 192.0.2.1 reason=„german“":               {Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"reason": "german"}},
		"deny 192.0.2.1 reason=Anna's":                 {Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"reason": "Anna's"}},
		`deny 192.0.2.1 reason='a "b" \d'`:             {Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"reason": `a "b" \d`}},
		`deny 192.0.2.1 reason="a \"b\" \\ \d"`:        {Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"reason": `a "b" \ \d`}},
		"deny reason=\"two\nlines\" 192.0.2.1":         {Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"reason": "two\nlines"}},
		`lists "--all" "for=4h"`:                       {Name: "lists", Words: []string{"--all", "for=4h"}},
		`lists ""`:                                     {Name: "lists", Words: []string{""}},
		"patch GET a.example/x?y=1":                    {Name: "patch", Words: []string{"GET", "a.example/x?y=1"}},
		"mode -1 block":                                {Name: "mode", Words: []string{"-1", "block"}},
		"deny 192.0.2.1 reason=":                       {Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"reason": ""}},
		"deny 192.0.2.1 reason=a=b":                    {Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"reason": "a=b"}},
		"deny   country:FR  \u00a0proxy:TOR\n\t aws  ": {Name: "deny", Words: []string{"country:FR", "proxy:TOR", "aws"}},
	} {
		l, err := grammar.Parse(line)
		require.NoError(t, err, line)
		require.Equal(t, want, l, line)
		again, err := grammar.Parse(l.String())
		require.NoError(t, err, line)
		require.Equal(t, l, again, "the way back of %s", l)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for line, word := range map[string]string{
		`deny "203.0.113.7`:            "quote",
		`deny reason='x`:               "quote",
		"deny 192.0.2.1 for=1h for=2h": "twice",
		strings.Repeat("x ", 1<<16):    "64 kB",
	} {
		_, err := grammar.Parse(line)
		require.ErrorIs(t, err, refusal.ErrUsage)
		require.ErrorContains(t, err, word)
	}
}

func TestWhatAShellHasSplit(t *testing.T) {
	t.Parallel()
	l, _, err := grammar.ParseArgs([]string{"deny", "203.0.113.7", "reason=two words", "for=4h", "--all"})
	require.NoError(t, err)
	require.Equal(t, `deny 203.0.113.7 for=4h reason="two words" --all`, l.String())
	l, _, err = grammar.ParseArgs(nil)
	require.NoError(t, err)
	require.Equal(t, "status", l.Name)
}

func TestWithCopiesTheLine(t *testing.T) {
	t.Parallel()
	l, err := grammar.Parse("deny 192.0.2.1 for=4h")
	require.NoError(t, err)
	require.Equal(t, "deny 192.0.2.1 app=4 for=4h", l.With("app", "4").String())
	require.Equal(t, "deny 192.0.2.1", l.With("for", "").String())
	require.Equal(t, "deny 192.0.2.1 for=4h", l.String())
}

// Any line that a program makes is read back as it was, in Slack as on a button.
func TestLinesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z]{1,3}=["'“\\ a]{0,4}`), rapid.StringMatching(`(--|—)[a-z]{1,2}`)), 1, 6).Draw(t, "args")
		l, _, err := grammar.ParseArgs(args)
		if err != nil {
			require.ErrorIs(t, err, refusal.ErrUsage)
			return
		}
		again, err := grammar.Parse(l.String())
		require.NoError(t, err)
		require.Equal(t, l, again)
		text, err := json.Marshal(l)
		require.NoError(t, err)
		var back record.Line
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, l, back, "on its way through the work stream")
	})
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"", "deny 203.0.113.7 for=4h", `deny "a b" reason=“x”`, `a \" \\ ' "`, "status —all", `x "=" y="=" ="`, "\xff", `"" ""`, `a="b"c`} {
		f.Add(line)
	}
	for _, sample := range hostiletext.Samples() {
		f.Add("note " + sample.Text)
	}
	f.Fuzz(func(t *testing.T, line string) {
		l, err := grammar.Parse(line)
		if err != nil {
			require.ErrorIs(t, err, refusal.ErrUsage)
			return
		}
		if len(l.String()) > 1<<16 { // with its quotes it may grow beyond what a line may be
			return
		}
		again, err := grammar.Parse(l.String())
		require.NoError(t, err)
		require.Equal(t, l, again)
	})
}

func TestUnknownVerbs(t *testing.T) {
	w := newWorld(t)
	for verb, hint := range map[string]string{"dney": "deny", "statsu": "status", "blok": "block", "udno": "undo", "atack": "attack"} {
		w.refuses(root, verb+" 203.0.113.7", refusal.ErrUnknown, "did you mean "+hint+"?", "help")
	}
	for _, verb := range []string{"x", "xylophone", "\u202e" + strings.Repeat("k", 5000)} {
		_, err := w.try(root, verb)
		require.ErrorIs(t, err, refusal.ErrUnknown)
		require.NotContains(t, err.Error(), "did you mean")
		require.NotContains(t, err.Error(), "\u202e")
		require.Less(t, len(err.Error()), 300)
	}
	require.False(t, w.Changes(record.Line{Name: "xylophone"}))
}

func TestAliases(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, "deny 203.0.113.7 for=4h", w.does(ann, "block 203.0.113.7").Line.String())
	w.does(ann, "unban 203.0.113.7")
	w.does(ann, "ban 203.0.113.7 for=1h")
	w.does(ann, "unblock 203.0.113.7")
	w.does(ann, "grey 203.0.113.7")
	require.Empty(t, w.entries("black"))
	require.Equal(t, []string{"203.0.113.7/32 [0] 24h0m0s"}, w.entries("gray"))
}

// The words that people know from elsewhere, and those of before, mean a verb and are nowhere kept.
func TestAnAliasBecomesItsVerb(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBlockPath))
	aliases := map[string]string{
		"block": "deny", "ban": "deny", "blacklist": "deny", "unblock": "remove", "unban": "remove", "whitelist": "allow", "grey": "gray", "claim": "ack", "release": "unack",
		"close": "block-path", "unrule": "delete-rule", "assign": "handover", "alone": "override", "break-glass": "override", "block-header": "indicator",
	}
	known := map[string]string{}
	for _, cmd := range verb.All() {
		for _, alias := range cmd.Aliases {
			known[alias] = cmd.Name
		}
	}
	require.Equal(t, aliases, known)
	delete(aliases, "block") // alone it means too much: TestBlockIsAboutSources
	for alias, name := range aliases {
		require.Equal(t, name, w.InThread(record.Line{Name: alias}, "").Name)
		help, err := verb.Help(alias)
		require.NoError(t, err)
		require.Contains(t, help[0].String(), name)
		_, err = w.try(eve, alias)
		require.Error(t, err)
		require.Equal(t, name, w.lastAudit().Line, "a refusal is audited by the verb")
	}

	id := w.attackOn("/login")
	require.Equal(t, "block-path POST shop.example.com/login for=30m", w.anyway(root, "close POST shop.example.com/login for=30m").Line.String())
	require.Equal(t, "block-path POST shop.example.com/login for=30m", w.lastAudit().Line)
	w.nothing(root, "block-path POST shop.example.com/login for=30m")
	w.writes(ann, "claim attack="+id)
	require.Equal(t, "ack attack="+id, w.lastAudit().Line)
	w.nothing(ann, "ack attack="+id)
	f, err := w.formOf(root, "close")
	require.NoError(t, err)
	require.Equal(t, "Block path", f.Title)
	require.Equal(t, "block-path", f.Base.Name)
}

func TestChangesSeparatesReadsFromChanges(t *testing.T) {
	w := newWorld(t)
	for line, want := range map[string]bool{
		"": false, "status": false, "attacks": false, "lists": false, "audit": false, "whoami": false, "help": false, "mode 4": false, "attack a1234": false, "incidents": false,
		"deny 1.2.3.4": true, "ban 1.2.3.4": true, "allow 1.2.3.4": true, "gray 1.2.3.4": true, "contain attack=a1234": true, "patch attack=a1234": true,
		"mode 4 block": true, "remove 1.2.3.4": true, "undo": true,
	} {
		l, err := grammar.Parse(line)
		require.NoError(t, err)
		require.Equal(t, want, w.Changes(l), line)
	}
}

func TestParseArgsTakesTheFrontEndsOptions(t *testing.T) {
	t.Parallel()
	options := []grammar.Option{{Name: "config", Value: "FILE"}, {Name: "json"}, {Name: "yes", Short: "y"}}
	for typed, want := range map[string]grammar.Given{
		"deny 192.0.2.1 -y for=1h":                        {"yes": ""},
		"--json deny 192.0.2.1 --yes for=1h":              {"json": "", "yes": ""},
		"deny --config a 192.0.2.1 for=1h":                {"config": "a"},
		"deny --config= --config=a=b -y 192.0.2.1 for=1h": {"config": "a=b", "yes": ""},
	} {
		line, given, err := grammar.ParseArgs(strings.Fields(typed), options...)
		require.NoError(t, err, typed)
		require.Equal(t, want, given, typed)
		require.Equal(t, record.Line{Name: "deny", Words: []string{"192.0.2.1"}, Keys: map[string]string{"for": "1h"}}, line, typed)
	}
	line, given, err := grammar.ParseArgs([]string{"note", "--json", "--", "-y", "--config"}, options...)
	require.NoError(t, err)
	require.Equal(t, grammar.Given{"json": ""}, given)
	require.Equal(t, []string{"-y"}, line.Words, "behind a bare -- nothing is the front end's")
	require.Equal(t, []string{"config"}, line.Flags)
	_, given, err = grammar.ParseArgs([]string{"status", "--json", "--config"}, options...)
	require.EqualError(t, err, "--config needs a file")
	require.True(t, given.Has("json"), "so that the answer is for programs, too")
}
