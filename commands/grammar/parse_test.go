package grammar_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
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
