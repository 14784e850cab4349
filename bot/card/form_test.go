package card

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// requireView fails if Slack would refuse the view, or could.
func requireView(t testing.TB, v slack.ModalViewRequest) {
	t.Helper()
	s, err := compiled("modal")
	require.NoError(t, err)
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	require.Less(t, len(raw), 250<<10)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	require.NoError(t, err)
	require.NoError(t, s.Validate(doc))
	blocks := map[string]bool{}
	inputs := 0
	for _, b := range v.Blocks.BlockSet {
		if input, ok := b.(*slack.InputBlock); ok {
			inputs++
			require.False(t, blocks[input.BlockID], "block_id %s comes twice", input.BlockID)
			blocks[input.BlockID] = true
		}
	}
	require.Equal(t, v.CallbackID == ViewForm || v.CallbackID == ViewAsk, v.Submit != nil, "submit goes with what can be done")
	require.True(t, inputs == 0 || v.Submit != nil)
	require.LessOrEqual(t, len([]rune(v.PrivateMetadata)), 3_000)
}

// goldenView holds a view against its file.
func goldenView(t *testing.T, name string, v slack.ModalViewRequest) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	golden(t, filepath.Join("testdata", name+".json"), string(text)+"\n")
}

func TestFormOfEveryKindOfField(t *testing.T) {
	t.Parallel()
	f := call.Form{
		Title: "Deny", Submit: "Deny", Base: record.Line{Name: "deny"}.With("account", "acme"), Attack: "ak7q2m9xw",
		Intro: text.Lines{text.New(text.Code("ak7q2m9xw"), " SQL injection on Shop, last hit ", now)},
		Fields: []call.Field{
			{Name: "sources", Label: "Sources", Kind: call.FieldMany, Values: []string{"203.0.113.7"}, Options: []call.Option{{Value: "203.0.113.7", Label: "203.0.113.7 FR, 79 %"}, {Value: "198.51.100.4"}}},
			{Name: "addresses", Label: "Addresses and ranges", Hint: "with spaces between them", Kind: call.FieldLines, Values: []string{"192.0.2.1\n192.0.2.2"}},
			{Name: "countries", Label: "Countries", Kind: call.FieldMany, Options: []call.Option{{Value: "FI", Label: "Finland", Group: "F"}, {Value: "FR", Label: "France", Group: "F"}, {Value: "GA", Label: "Gabon", Group: "G"}}},
			{Name: "for", Label: "How long", Kind: call.FieldOne, Required: true, Values: []string{"4h"}, Options: []call.Option{{Value: "4h", Label: "4 h"}, {Value: "forever"}}},
			{Name: "to", Label: "To", Kind: call.FieldUser},
			{Name: "reason", Label: "Reason", Kind: call.FieldText, Values: []string{"\u202ewhat can't be read isn't put into anybody's mouth"}},
		},
	}
	v, err := FormView(f, ViewMeta{Account: "acme", Channel: "C0WAF", Thread: "1795230310.000100"})
	require.NoError(t, err)
	requireView(t, v)
	goldenView(t, "form/every-field", v)
}

func TestViewsBesideForms(t *testing.T) {
	t.Parallel()
	m := ViewMeta{Account: "acme", Channel: "C0WAF", Attack: "ak7q2m9xw"}
	looking, err := LoadingView(m)
	require.NoError(t, err)
	asked := &refusal.Refusal{
		Kind: refusal.ErrAsk, Text: text.New(text.Bold("Deny 203.0.113.0/24 everywhere for 4 h"), "? Before you do:\n• it is wide\n• until ", now.Add(4*time.Hour)),
		Line: record.Line{Name: "deny", Words: []string{"203.0.113.0/24"}}.With("for", "4h").With("account", "acme"),
	}
	anyway, err := AskView(asked, m)
	require.NoError(t, err)
	answer, err := AnswerView(Lines(text.Lines{text.New("Deny 203.0.113.7: accepted by the service")}), m)
	require.NoError(t, err)
	for name, v := range map[string]slack.ModalViewRequest{"loading": looking, "anyway": anyway, "answer": answer} {
		requireView(t, v)
		goldenView(t, "form/"+name, v)
	}
	asked.Line.Words = []string{strings.Repeat("203.0.113.0/24 ", 300)}
	_, err = AskView(asked, m)
	require.Error(t, err, "a line that has no room in a view isn't cut")
}

func TestMoreGolden(t *testing.T) {
	t.Parallel()
	for name, c := range situations() {
		if c.Situation.Account == nil {
			continue // it isn't known: there is no button
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := MoreView(words.Line(c.Situation, c.Headline), advice.More(c.Situation), nil,
				ViewMeta{Account: "acme", Channel: "C0WAF"})
			require.NoError(t, err)
			requireView(t, v)
			for _, b := range buttonsOf(v.Blocks.BlockSet) {
				require.True(t, strings.HasPrefix(b.ActionID, ActionForm+":"), "nothing under More acts at once: %s", b.ActionID)
				require.True(t, strings.HasSuffix(b.Text.Text, "…"))
			}
			if slices.Contains([]string{"incident", "attack", "brute-force", "default-app", "denied-and-patched", "changes-off", "hostile", "storm", "storm-one-path"}, name) {
				goldenView(t, "more/"+name, v) // the others look the same
			}
		})
	}
}

func TestMoreChoicesThanAFieldHolds(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 100, 101, 1000} {
		f := call.Form{Title: "Mode", Submit: "Mode", Base: record.Line{Name: "mode"}, Fields: []call.Field{{Name: "app", Arg: "app", Label: "Application", Kind: call.FieldOne, Values: []string{fmt.Sprint(n)}}}}
		for i := range n {
			f.Fields[0].Options = append(f.Fields[0].Options, call.Option{Value: fmt.Sprint(i + 1), Label: strings.Repeat("é", 70) + fmt.Sprint(i+1)})
		}
		v, err := FormView(f, ViewMeta{})
		require.NoError(t, err)
		requireView(t, v)
	}
}

// An attack that went on for days has more changes in force than a view holds.
func TestMoreThanAViewHolds(t *testing.T) {
	t.Parallel()
	c := incident()
	c.Situation.Changes = manyChanges(300)
	all := advice.More(c.Situation)
	v, err := MoreView(text.New("head"), all, nil, ViewMeta{})
	require.NoError(t, err)
	requireView(t, v)
	labels := ""
	for _, g := range all {
		for _, s := range g.Do {
			labels += s.Label + "\n"
		}
	}
	require.Contains(t, labels, "Extend another…")
	require.Contains(t, labels, "Report…")
}
