package advice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// noStormDeny says what stops a storm that no one denial does.
func noStormDeny(s call.Situation) []text.Text {
	lines := []text.Text{text.New(text.Bold("No one deny stops this."), " ", text.Bold("What can:"), " a rate limit or captcha in the application · a header that the requests share, your own list of addresses: under More")}
	method, place, ok := stormPlace(s)
	if !ok || WatchedOnly(s) {
		return lines
	}
	closing := record.Line{Name: "block-path", Words: []string{method, place}}.With("for", "30m")
	line := text.New("At that path: ", text.Code(closing.String()), " blocks all requests, clean ones too")
	if apiclient.Patchable(s.Attack.Type) {
		patching := record.Line{Name: "patch", Words: []string{method, place}}.With("type", s.Attack.Type).With("part", "…")
		line = text.New(line, " · ", text.Code(patching.String()), " closes the hole alone; the part is in the list")
	}
	return append(lines, line)
}

// stormPlace is the path that most of the storm goes to, as a line names it; ok reports whether there is one and it is known whole.
func stormPlace(s call.Situation) (method, place string, ok bool) {
	method, place, ok = strings.Cut(s.Storm.Place, " ")
	return method, place, ok && method != "" && !strings.HasSuffix(place, "…") && place == text.Sanitize(place, text.MaxHost+text.MaxPath)
}

// ShowUnblocked is the button that shows what gets through: by cards of their own, or as a list where these are too many.
func ShowUnblocked(s call.Situation) []call.Suggestion {
	label := "Show it"
	switch left := s.Storm.UnblockedCount; {
	case left == 0:
		return nil
	case left > 1:
		label = "Show the " + text.Number(left)
	}
	if s.Storm.UnblockedCount > describe.MostCards {
		return []call.Suggestion{{
			Label: "List the " + text.Number(s.Storm.Passing()), Spoken: "List all grouped attacks, what gets through first",
			Line: record.Line{Name: "attacks"}.With("storm", s.ID).With("account", s.Account.Name),
		}}
	}
	return []call.Suggestion{{Label: label, Spoken: "Cards of their own for what gets through", Line: lineFor(s, "cards")}}
}

// denyInStorm adds the denial of the busiest source of what gets through, if there is one that may be denied, and says why others may not.
func (a *Advice) denyInStorm(s call.Situation) {
	if len(s.Storm.Behind) > 0 && WatchedOnly(s) {
		a.Notes = append(a.Notes, text.New("No deny: no application of the storm can block, so it would stop nothing there"))
		return
	}
	for _, behind := range s.Storm.Behind {
		one := s
		one.Storm, one.Attack.Sources = nil, []apiclient.Source{behind.Source}
		top, note := deniable(one)
		if note != nil {
			a.Notes = append(a.Notes, note)
		}
		if top != nil {
			a.Suggestions = append(a.Suggestions, stormDeny(s, behind))
			if 2*behind.In < s.Storm.Passing() {
				a.Notes = append(a.Notes, noStormDeny(s)...)
			}
			return
		}
	}
	if s.Storm.Passing() > 0 {
		a.Notes = append(a.Notes, noStormDeny(s)...)
	}
}

// maxDenyLabel is how long a label is at most: of an IPv6 address it says no more than that it is the busiest.
const maxDenyLabel = 24

// stormDeny denies a source of what gets through in a storm. It promises nothing: others may go on.
func stormDeny(s call.Situation, source record.StormSource) call.Suggestion {
	label, title, ok, dry := "Deny "+source.IP.String(), "Deny "+source.IP.String()+"?", "Deny", ""
	if len(title) > maxDenyLabel {
		label, title = "Deny top source", "Deny the top source?"
	}
	if s.Policy.ChangesNow() == policy.ChangesDryRun {
		title, ok, dry = "Dry run: deny?", "Show request", "Dry run, nothing is changed: "
	}
	b := call.Suggestion{
		Label: label, Title: title, OK: ok, Spoken: "Deny " + source.IP.String(),
		Line: lineFor(s, "deny", source.IP.String()).With("for", grammar.DurationText(denyFor(s))),
		Confirm: dialog(
			call.Sentence{Text: fmt.Sprintf("%sdeny %s on all applications for %s, usually within 1 min. It is in %s.", dry, source.IP, text.Duration(denyFor(s)), Reach(*s.Storm, source))},
			call.Sentence{Text: "Everyone behind this address is blocked."}, shared(s, source.Source), stormChecked(s),
		),
		Stops: fmt.Sprintf("deny %s, about 1 min, %s", source.IP, Reach(*s.Storm, source)),
	}
	if dry == "" {
		b.Confirm[0].Text = strings.ToUpper(b.Confirm[0].Text[:1]) + b.Confirm[0].Text[1:]
	}
	return knowing(s, b, source.Source)
}

// Reach says in how many of those that get through a source is.
func Reach(s record.Storm, source record.StormSource) string {
	switch n := s.Passing(); {
	case n == 1:
		return "the one that gets through"
	case source.In == n:
		return "all " + text.Number(n) + " that get through"
	default:
		return text.Number(source.In) + " of the " + text.Number(n) + " that get through; the others go on"
	}
}

// stormChecked is what was checked before the button was drawn. The guards run again at the click.
func stormChecked(s call.Situation) call.Sentence {
	if s.ListsReadAt.IsZero() {
		return call.Sentence{Spare: checkedFirst, Text: "The allowlist is checked when pressed."}
	}
	return call.Sentence{Spare: checkedFirst, Text: "Not allowlisted at " + s.ListsReadAt.UTC().Format("15:04 UTC") + "; checked again when pressed."}
}

// Over are the buttons of a storm that is over: what it was, and what was done.
func Over(s call.Situation) []call.Suggestion {
	return []call.Suggestion{{Label: "Verdict…", Line: lineFor(s, "verdict"), Form: true}, {Label: "Report", Line: lineFor(s, "report")}}
}

// UndoAny opens the form that undoes what was done for the attack or storm; none where nothing is in force.
func UndoAny(s call.Situation) []call.Suggestion {
	if !slices.ContainsFunc(s.Changes, func(ch record.Change) bool { return ch.InForce(s.Now) && ch.Parent() == "" }) {
		return nil
	}
	return []call.Suggestion{{Label: "Undo…", Line: lineFor(s, "undo"), Form: true}}
}
