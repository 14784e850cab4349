package card

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"html"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// seeds are what fuzz tests begin with.
func seeds(more ...string) []string {
	for _, t := range hostiletext.Samples() {
		more = append(more, shorter(t.Text))
	}
	return more
}

// shorter is a text cut to what is far more than anything shows of it. Cards and answers are drawn of the long ones,
// too.
func shorter(text string) string { return text[:min(len(text), 4_000)] }

// hostileDrawn is all that is drawn for people, by the function that draws it, where everything that an attacker or
// another user can write is the text.
func hostileDrawn(said string) map[string]func() []any {
	c := hostile(said)
	attack, say := c.Situation.Attack, text.New(said, text.Bold(said), text.Code(said))
	suggestion := call.Suggestion{Label: said, Title: said, OK: said, Confirm: call.Dialog{{Text: said}}, Stops: said,
		Danger: true, Line: record.Line{Name: "note", Words: []string{said}}.With("account", "acme")}
	ask := &refusal.Refusal{Kind: refusal.ErrAsk, Text: text.New(text.Bold(said), "? Before you do:", "\n• ", say),
		Line: suggestion.Line}
	texts, buttons := text.Lines{say, text.New(text.User(said), text.Channel(said))}, []call.Suggestion{suggestion}
	ch := hostileChange(said)
	event := record.Event{ID: said, Account: "acme", At: now, Attack: &record.AttackState{Attack: attack}}
	return map[string]func() []any{
		"Render": func() []any { return []any{Render(c.Situation), Render(hostileStorm(said).Situation)} },
		"MoreView": func() []any {
			return drawn(MoreView(words.Attack(c.Situation.Account, attack, now),
				append(advice.More(c.Situation), advice.Group{Title: said, Do: buttons}), text.New(said),
				ViewMeta{Account: "acme"}))
		},
		"FormView":    func() []any { return drawn(FormView(hostileForm(said), ViewMeta{})) },
		"AskView":     func() []any { return drawn(AskView(ask, ViewMeta{})) },
		"LoadingView": func() []any { return drawn(LoadingView(ViewMeta{Account: "acme"})) },
		"AnswerView":  func() []any { return drawn(AnswerView(Lines(texts, buttons...), ViewMeta{})) },
		"Ask":         func() []any { return []any{Ask(ask)} },
		"Lines": func() []any {
			return []any{Lines(texts, buttons...), Lines(slices.Repeat(texts, 8), slices.Repeat(buttons, 30)...)}
		},
		"documentMessage": func() []any {
			return []any{documentMessage(call.Result{Lines: texts, Document: strings.Repeat(say.Markdown(time.UTC), 30)}, true)}
		},
		"partsMessage": func() []any {
			return []any{partsMessage(call.Result{Lines: texts,
				Parts: []call.Part{{Title: say, Rows: []call.Row{{Text: say, Do: buttons}}, More: say, Do: buttons}}}),
				summaryMessage(hostileSummary(said))}
		},
		"Answer": func() []any {
			return []any{Answer(call.Result{Lines: texts, Next: &suggestion.Line}, false)}
		},
		"FormOffer":  func() []any { return []any{FormOffer(&refusal.Refusal{Text: say}, suggestion.Line)} },
		"DoctorTest": func() []any { return []any{DoctorTest(said)} },
		"Summary": func() []any {
			return []any{Summary(acme(), call.Result{Lines: texts, Data: hostileSummary(said),
				Parts: hostileSummary(said).Parts(true)})}
		},
		"Home": func() []any {
			return []any{Home(crowd(2, 1, said)), Renumber(slices.Concat(Ask(ask).Blocks, Home(crowd(1, 1, said))))}
		},
		"Refused":         func() []any { return []any{Refused(&refusal.Refusal{Text: say, Next: say})} },
		"HomeUnavailable": func() []any { return []any{HomeUnavailable(say)} },
		"ApprovalRequest": func() []any {
			return hostileRequests(said, func(q record.ApprovalRequest) Message {
				return ApprovalRequest(q, wayOut(),
					now.Add(5*time.Minute))
			})
		},
		"ApprovalDecision": func() []any {
			return hostileRequests(said, func(q record.ApprovalRequest) Message { return ApprovalDecision(q, wayOut(), now) })
		},
		"Unreachable": func() []any {
			return []any{Unreachable(acme(), record.UnreachableFacts{Outage: record.Outage{From: now, Why: said}, Fix: said})}
		},
		"MonitoringGap": func() []any {
			return []any{MonitoringGap(acme(), record.GapFacts{To: now, Why: said,
				Began: slices.Repeat([]string{attack.ID}, 20), BeganCount: 30, Over: []string{attack.ID},
				OverCount: 30}, map[string]record.AttackState{record.AttackID("acme", attack.ID): {Attack: attack}}, now)}
		},
		"PermissionLost": func() []any { return []any{PermissionLost(acme(), hostileLoss(said), manyChanges(5), now)} },
		"PermissionBack": func() []any { return []any{PermissionBack(acme(), hostileLoss(said))} },
		"PagerUnreachable": func() []any {
			return []any{PagerUnreachable(acme(), record.PagerFault{Route: said, Why: said})}
		},
		"ForeignRecords": func() []any { return []any{ForeignRecords(acme(), record.ForeignFacts{Records: 1})} },
		"TestCard":       func() []any { return hostileDrills(said) },
		"DrillReport":    func() []any { return hostileDrills(said) },
		"MitigationEnding": func() []any {
			return []any{MitigationEnding(ch, said, said, now), MitigationEnding(ch, said, said, ch.Until)}
		},
		"Efficacy":   func() []any { return []any{Efficacy(hostileEffect(said), ch, []string{said})} },
		"EndOverdue": func() []any { return []any{EndOverdue(acme(), ch, said, now)} },
		"ChangeSettled": func() []any {
			msg, reply, _ := ChangeSettled(ch, record.Change{}, "", buttons)
			return []any{msg, reply}
		},
		"Moved": func() []any {
			line := MovedLine(acme(), said, record.AttackState{Attack: attack}, record.Place{Channel: "C1", TS: "1.1"},
				"https://acme.slack.com/archives/C1/p11")
			return []any{Moved(acme(), said, line)}
		},
		"Stale": func() []any { return []any{Stale(texts[0])} },
		"Course": func() []any {
			return []any{Course(c.Situation, nil)}
		},
		"FirstStart": func() []any {
			return []any{FirstStart(acme(), record.FirstStartFacts{}, policy.Policy{},
				Roles(config.Policy{Admins: []string{said}}, func(id string) text.Text { return text.New(text.User(id)) }))}
		},
		"Worse": func() []any {
			return []any{Worse(acme(), event, said), Worse(acme(),
				record.Event{Kind: record.BecameIncident, At: now, Attack: &record.AttackState{Attack: attack}}, said)}
		},
		"StoreRebuilt": func() []any {
			return []any{StoreRebuilt(&config.Account{Name: "acme"},
				record.RebuildFacts{Unknown: []string{said}, Unread: []string{said}}),
				StoreRebuilt(&config.Account{Name: "acme"}, record.RebuildFacts{Unreadable: true})}
		},
	}
}

// partsOfOthers draw nothing that a person sees by itself, each with why.
var partsOfOthers = map[string]string{
	"section":       "a block of markup",
	"linesAbove":    "a part of Lines",
	"inSmall":       "a part of Refused, MoreView and ApprovalRequest",
	"notified":      "Lines with a notification of its own",
	"actions":       "a block of buttons",
	"sections":      "blocks of lines",
	"renderLines":   "the blocks of Lines",
	"render":        "Render with its headline",
	"write":         "a part of partsMessage and Home",
	"WithoutFacts":  "a message with less metadata",
	"WithDelivery":  "a message with its delivery",
	"ofAnotherApp":  "fixed words",
	"perhapsStored": "fixed words",
	"AsText":        "what is left of a message that Slack refuses: each is tried in text alone, too",
	"Renumber":      "numbers buttons again",
	"modal":         "the frame of views",
	"resultMessage": "chooses among Answer, FormOffer, Ask and Lines",
	"plainer":       "a message with less in it",
	"post":          "a message with its place",
	"thread":        "a reply with its place",
	"underCard":     "two messages of which one is posted",
	"cardPost":      "Render with its place",
	"say":           "Lines of one line",
	"home":          "looks up what Home draws",
}

// It fails for what is drawn and not yet drawn of the corpus, too.
func TestAllThatIsDrawnIsDrawnOfHostileText(t *testing.T) {
	t.Parallel()
	all := hostileDrawn("x")
	drawing := slices.Concat(drawingFunctions(t, "."), drawingFunctions(t, ".."), drawingFunctions(t, "../notify"))
	for _, name := range drawing {
		_, part := partsOfOthers[name]
		require.NotEqual(t, part, all[name] != nil, "%s draws for people: it belongs into hostileDrawn, or, with the reason, into partsOfOthers", name)
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(all)), slices.Collect(maps.Keys(partsOfOthers))) {
		require.Contains(t, drawing, name)
	}
}

// drawingFunctions are the functions of a folder that make messages, blocks or views, of something that isn't one yet.
func drawingFunctions(t *testing.T, folder string) (names []string) {
	t.Helper()
	isTest := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(gotoken.NewFileSet(), folder, isTest, 0) //nolint:staticcheck // no build tags here
	require.NoError(t, err)
	kinds := []string{"Message", "card.Message", "Post", "reply", "[]slack.Block", "slack.Block", "slack.ModalViewRequest"}
	given := func(fields *ast.FieldList) bool {
		return fields != nil && slices.ContainsFunc(fields.List, func(f *ast.Field) bool { return slices.Contains(kinds, nameOfType(f.Type)) })
	}
	for _, p := range packages {
		for _, file := range p.Files {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && given(f.Type.Results) && f.Name.Name != "Options" {
					names = append(names, f.Name.Name)
				}
			}
		}
	}
	require.NotEmpty(t, names)
	return names
}

func nameOfType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOfType(e.X) + "." + e.Sel.Name
	case *ast.ArrayType:
		return "[]" + nameOfType(e.Elt)
	}
	return ""
}

// drawn is a view that was drawn, or nothing when there is no room in it, which is said.
func drawn(v slack.ModalViewRequest, err error) []any {
	if err != nil {
		return []any{err}
	}
	return []any{v}
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	for _, sample := range full.Some(6, hostiletext.Samples()) {
		t.Run(sample.Purpose, func(t *testing.T) {
			t.Parallel()
			whole := hostileDrawn(sample.Text)
			for name, draw := range hostileDrawn(shorter(sample.Text)) {
				if name == "Render" || name == "Answer" {
					draw = whole[name]
				}
				for i, one := range draw() {
					requireHarmlessKind(t, one, fmt.Sprintf("%s %d, where an attacker writes %.80q", name, i, sample.Text))
				}
			}
		})
	}
}

// requireHarmlessKind holds something that was drawn to what Slack takes, and to what it may read in it.
func requireHarmlessKind(t *testing.T, one any, what string) {
	t.Helper()
	var blocks []slack.Block
	switch one := one.(type) {
	case Message:
		requireFits(t, one)
		require.NoError(t, hostiletext.Lines(one.Text, hostiletext.Markup), "the notification of "+what)
		require.NoError(t, hostiletext.Lines(one.plain("/waf"), hostiletext.Unlinked), "in text alone, "+what)
		blocks = one.Blocks
	case slack.ModalViewRequest:
		requireView(t, one)
		blocks = one.Blocks.BlockSet
	case []slack.Block:
		requireHome(t, one)
		blocks = one
	case error:
		return
	default:
		require.Fail(t, "drawn is no message, no view and no tab", "%s: %T", what, one)
	}
	text, err := json.Marshal(blocks)
	require.NoError(t, err)
	var doc any
	require.NoError(t, json.Unmarshal(text, &doc))
	require.NoError(t, hostiletext.Blocks(doc), what)
	for _, button := range buttonsOf(blocks) {
		kind, _, _ := strings.Cut(button.ActionID, ":")
		if slices.Contains([]string{ActionDo, ActionAnyway, ActionForm, ActionMore}, kind) {
			line, err := grammar.Parse(button.Value)
			require.NoError(t, err, what)
			require.Equal(t, button.Value, line.String(), "what a button says is what runs: "+what)
		}
	}
}

// What was written can be recognised, on the card and in what it leads to.
func TestHostileTextIsNotLost(t *testing.T) {
	t.Parallel()
	bare := func(s string) string {
		return strings.Join(strings.Fields(strings.NewReplacer("`", "", "'", "", "*", "").Replace(s)), "")
	}
	for _, sample := range full.Some(6, hostiletext.Samples()) {
		want, all := []rune(bare(text.Sanitize(sample.Text, 60))), hostileDrawn(shorter(sample.Text))
		for _, name := range []string{"Render", "Lines", "Ask", "ApprovalRequest", "PermissionLost", "EndOverdue"} {
			shown := bare(html.UnescapeString(strings.Join(markupOf(t, all[name]()[0].(Message).Blocks), "\n")))
			require.Contains(t, shown, string(want[:min(len(want), 20)]), "%s of %.80q", name, sample.Text)
		}
	}
}

func hostileForm(words string) call.Form {
	return call.Form{
		Title: "Close", Submit: "Close", Intro: text.Lines{text.New(words, text.Code(words))}, Attack: words, Base: record.Line{Name: "block-path"}.With("account", words),
		Fields: []call.Field{
			{Name: "place", Label: "Place", Values: []string{words}}, {Name: "why", Label: "Why", Hint: words, Kind: call.FieldLines, Values: []string{words, words}},
			{Name: "app", Label: words, Kind: call.FieldOne, Values: []string{"4"}, Options: []call.Option{{Value: "4", Label: words}, {Value: "7"}}},
			{Name: "sources", Label: "Sources", Kind: call.FieldMany, Values: []string{"4"}, Options: []call.Option{{Value: "4", Label: words, Group: words}, {Value: "7", Group: words}}},
			{Name: "to", Label: "To", Kind: call.FieldUser, Values: []string{words}},
		},
	}
}

func hostileChange(text string) record.Change {
	ch := switched()
	ch.Does, ch.Reason, ch.Fault, ch.Actor.Name, ch.When = text, text, text, text, text
	ch.Late = &record.Late{Due: ch.Until, Why: text}
	return ch
}

func hostileRequests(text string, draw func(q record.ApprovalRequest) Message) (all []any) {
	q := waiting()
	q.Does, q.Reason, q.Asker.Name, q.Line.Words, q.Why, q.Fault = text, text, text, []string{text}, text, text
	q.Reach, q.Warnings, q.Needs = slices.Repeat([]string{text}, 12), slices.Repeat([]string{text}, 12), slices.Repeat([]record.ApprovalReason{{Why: text}}, 12)
	for _, q.State = range []record.RequestState{record.RequestWaiting, record.RequestApproved, record.RequestRejected, record.RequestClosed, record.RequestExpired, record.RequestOverridden} {
		q.Outcome = map[bool]string{true: "failed"}[len(all)%2 == 1]
		all = append(all, draw(q))
	}
	return all
}

func hostileLoss(text string) record.PermissionLoss {
	steps := []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{Reason: text}}, {Kind: record.CreateRule, Rule: &apiclient.Rule{Type: text, Regex: text}}}
	refused := record.RefusedChange{Does: text, Line: record.Line{Name: "deny", Words: []string{text}}, By: record.Actor{Name: text}, Steps: slices.Repeat(steps, 10)}
	return record.PermissionLoss{Account: "acme", Since: now, Lacks: []record.Permission{record.PermissionLists, record.PermissionModes, record.PermissionRules}, Refused: slices.Repeat([]record.RefusedChange{refused}, 5)}
}

func hostileDrills(text string) (all []any) {
	for _, d := range drills() {
		d.By.Name = text
		if d.Cards[0].By != nil {
			d.Cards[0].By = &record.Actor{Name: text}
		}
		all = append(all, TestCard(acme(), d, 0), DrillReport(d, now))
	}
	return all
}

func hostileSummary(text string) report.Summary {
	s := summaries()["busy"]
	s.Overview = crowd(1, 12, text).Accounts[0]
	s.Others = slices.Repeat(s.Others, 5)
	s.Others[0].Reason, s.Others[0].Author = text, text
	undone := s.InForce[0]
	undone.EndedBy = &record.Actor{Name: text}
	s.Undone = slices.Repeat([]report.Undone{{Change: undone, Why: text}}, 5)
	s.Notes = slices.Repeat([]report.NoteOn{{Attack: text, Note: record.Note{Text: text, By: record.Actor{Name: text}}}}, 5)
	s.Outages = slices.Repeat([]record.Outage{{Why: text}}, 5)
	s.Modes = slices.Repeat([]efficacy.ModeWindow{{Mode: text}}, 5)
	return s
}
