package advice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Group is what stands together under More.
type Group struct {
	Title string
	Do    []call.Suggestion // none acts at once: each opens a form, or shows what is asked for
}

func (g *Group) add(label, about string, l record.Line) {
	g.Do = append(g.Do, call.Suggestion{Label: label + "…", Line: l, Stops: about, Form: true})
}

// More is what else can be done about an attack or storm, beside its card's buttons. No group is empty.
func More(s call.Situation) []Group {
	all := []Group{moreBlock(s), moreTriage(s), moreLook(s), moreChanges(s)}
	return slices.DeleteFunc(all, func(g Group) bool { return len(g.Do) == 0 })
}

// moreBlock are those that change something at the service.
func moreBlock(s call.Situation) Group {
	g := Group{Title: "Block"}
	if s.Policy.ChangesNow() == config.ChangesOff {
		return g
	}
	a, blocks := s.Attack, !watchedOnly(s)
	if s.Storm == nil && blocks && apiclient.Patchable(a.Type) {
		g.add("Deny + patch", "The top source in about 1 min, the hole in minutes", lineFor(s, "contain"))
		g.add("Patch only", "All sources, in minutes to 1 h", lineFor(s, "patch"))
	}
	g.add("Deny several", "Several sources, a list, a country, Tor, data centers: in about 1 min", lineFor(s, "deny"))
	if blocks {
		g.add("Block by header", "What its requests have in common, as a User-Agent: in minutes to 1 h",
			lineFor(s, "indicator"))
	}
	if s.Storm == nil && blocks && a.App.Known {
		name := s.Account.AppName(a.App)
		g.add("Mode of "+text.Field(name), "All of "+name+", in minutes to 1 h", lineFor(s, "mode", appWord(a.App)))
	}
	if _, _, ok := change.Blockable(a, s.Storm); ok && blocks {
		g.add("Block path", "Blocks all requests to it, clean ones too", lineFor(s, "block-path"))
	}
	return g
}

// moreTriage are those that people tell each other by.
func moreTriage(s call.Situation) Group {
	g := Group{Title: "Triage"}
	g.add("Verdict", "Real, a false positive, or a test", lineFor(s, "verdict"))
	g.add("Note", "For the others, under Details", lineFor(s, "note"))
	g.add("Hand over", "Hand it over", lineFor(s, "handover"))
	switch {
	case s.Storm != nil:
		if source := (apiclient.Source{IP: s.Storm.Source}); source.IP.IsValid() {
			g.add("Mute "+source.String(), "No notifications of this source for a while; incidents are posted all the same",
				lineFor(s, "mute").With("attack", "").With("source", source.String()))
		}
	case !s.Attack.Incident():
		g.add("Mute", "No notifications of it for a while", lineFor(s, "mute"))
	}
	return g
}

// moreLook are those that only show.
func moreLook(s call.Situation) Group {
	g := Group{Title: "Look"}
	g.add("Details", "All that is known: sources, course, changes, notes, why a button is missing",
		record.LineOf(s.Account.Name, "attack", s.ID))
	if s.Storm != nil {
		g.add("List", "All grouped attacks", record.LineOf(s.Account.Name, "attacks").With("storm", s.ID))
	}
	g.add("Report", "What happened and what was done, as Markdown to be copied", lineFor(s, "report"))
	g.add("Explain", "Where its card went, whom it mentions, and why", lineFor(s, "explain"))
	return g
}

// moreChanges extend and undo what was done.
func moreChanges(s call.Situation) Group {
	g := Group{Title: "Changes"}
	if undo := UndoAll(s); len(undo) > 0 {
		g.add("Undo", "One of them, or all", undo[0].Line)
	}
	ending := slices.DeleteFunc(ownChanges(s), func(ch record.Change) bool { return ch.Until.IsZero() })
	slices.SortStableFunc(ending, func(x, y record.Change) int { return x.Until.Compare(y.Until) })
	for _, ch := range ending[:min(maxExtend, len(ending))] {
		g.add("Extend "+ch.ID, ch.Does, lineFor(s, "extend", ch.ID).With("attack", ""))
	}
	if more := len(ending) - maxExtend; more > 0 {
		g.add("Extend another", fmt.Sprintf("%d more hold for a time", more), lineFor(s, "extend").With("attack", ""))
	}
	return g
}

// maxExtend is how many changes can be extended with one press: those that end first. A view holds a hundred things.
const maxExtend = 20

// maxUndo is how many changes are ticked in the form of Undo: the newest. An undo takes back no more at once.
const maxUndo = 20

// ownChanges are wafbot's changes for the attack that are in force and still stand, the oldest first.
func ownChanges(s call.Situation) []record.Change {
	return slices.DeleteFunc(slices.Clone(s.Changes), func(ch record.Change) bool {
		return !ch.InForce(s.Now) || ch.Parent() != "" || efficacy.Gone(s, ch) || efficacy.Superseded(ch, s.AccountChanges)
	})
}

// UndoAll is the one button that undoes what was done for an attack: its form has all of it ticked. None where nothing
// is in force.
func UndoAll(s call.Situation) []call.Suggestion {
	var ids []string
	for _, ch := range slices.Backward(ownChanges(s)) {
		ids = append(ids, ch.ID)
	}
	ids = ids[:min(maxUndo, len(ids))]
	if len(ids) == 0 || s.Policy.ChangesNow() == config.ChangesOff {
		return nil
	}
	return []call.Suggestion{{Label: "Undo…", Spoken: "Undo what was done",
		Line: lineFor(s, "undo", ids...).With("attack", ""), Form: true}}
}

// Triage are the buttons for an attack that nothing gets through of any more.
func Triage(s call.Situation) []call.Suggestion {
	return []call.Suggestion{
		{Label: "Verdict…", Line: lineFor(s, "verdict"), Form: true},
		{Label: "Report", Line: lineFor(s, "report")},
	}
}

// Which sentence of a dialog is left out first where there is no room for all: the last of these. What the button does
// is never left out.
const (
	crowd = iota + 1 // whom else it may hit
	figures
	returns
	locked
	elsewhere
	checkedFirst // what was checked
)

// maxLabel is how many characters a button's label has at most: a phone shows no more.
const maxLabel = 24

// denyButton denies one source. Slack opens its dialog before wafbot hears of the click, so all that matters stands
// there.
func denyButton(s call.Situation, source Leak) call.Suggestion {
	lasts, deny := change.Denying.Lasts(s.Policy), "Deny "+source.String()
	label, length, also, one := deny, text.Duration(lasts), "", source.Range().IsSingleIP()
	if text.Length(label) >= maxLabel { // its dialog's title has room for one more
		label = "Deny top source"
		if !one {
			label = "Deny top /64"
		}
	}
	if one && lasts < s.Policy.RenewWhileActive {
		length += ", longer while it keeps trying (" + text.Duration(s.Policy.RenewWhileActive) + " at most)"
	}
	seen, behind := s.Context.Sources[source.IP],
		call.Sentence{Spare: crowd, Text: "Everyone behind this address is blocked."}
	if !one {
		behind.Text = "Everyone in this /64 is blocked."
	}
	shared := words.LikelyShared(seen)
	switch {
	case shared:
		behind.Text = "LIKELY A CDN, PROXY OR OFFICE (" + words.Spread(seen) + "): everyone behind it is blocked."
		behind.Flag = call.FlagShared
	case s.Storm == nil: // in a storm shareWords says it
		also = words.Elsewhere(seen, s.Attack, source.IP)
	}
	checked := "The lists are read when pressed."
	if !s.ListsReadAt.IsZero() { // the guards run again at the click
		checked = "Not allowlisted at " + clock(s.ListsReadAt) + "; checked again when pressed."
	}
	return call.Suggestion{
		Label: label, Title: label + "?", OK: "Deny", Spoken: deny, Danger: shared,
		Line: lineFor(s, "deny", source.String()).With("for", grammar.DurationText(lasts)),
		Confirm: call.Dialog{
			{Text: fmt.Sprintf("%s on all applications for %s, usually within 1 min.", source.String(), length)},
			sentence(0, words.ShortEntry(lasts)),
			{Spare: figures, Text: shareWords(s, source)},
			behind, sentence(elsewhere, also), {Spare: checkedFirst, Text: checked},
		},
	}
}

// sentence begins and ends words as one; nothing where there are none.
func sentence(spare int, words string) call.Sentence {
	if words == "" {
		return call.Sentence{}
	}
	return call.Sentence{Spare: spare, Text: strings.ToUpper(words[:1]) + words[1:] + "."}
}

// shareWords say how much of the attack a denial stops, and what goes on.
func shareWords(s call.Situation, source Leak) string {
	if s.Storm != nil {
		return reachWords(*s.Storm, source.IP)
	}
	share := "Its share of hits is unknown"
	if percent, ok := source.Share(); ok {
		share = words.Percent(percent) + " of hits"
		if !source.Since.IsZero() {
			share += " since the last change"
		}
		share += " as of " + clock(s.Now)
	}
	switch others := source.Others; {
	case others == 1:
		share += "; the other source goes on"
	case others > 1 && source.Addresses > 1: // more of the /64 may be unlisted
		share += "; up to " + text.Number(others) + " other sources go on"
	case others > 1:
		share += "; the other " + text.Number(others) + " sources go on"
	}
	return share + "."
}

// patchButton closes the hole for all sources.
func patchButton(s call.Situation, spec change.Patch) call.Suggestion {
	lasts, of := s.Policy.PatchFor(), spec.Scope
	place := text.Sanitize(strings.TrimSpace(of.Method+" "+of.Host+of.Path), 110)
	app := "on all applications"
	if of.App.Known {
		app = fmt.Sprintf("only on %s (%d)", text.Sanitize(s.Account.AppName(of.App), 30), of.App.N)
	}
	return changesRules(s, call.Suggestion{
		Label: "Patch", Title: "Patch the hole?", Spoken: "Patch the hole",
		Line: lineFor(s, "patch").With("for", grammar.DurationText(lasts)),
		Confirm: call.Dialog{
			{Text: fmt.Sprintf("Blocks %s in %s, %s, %s, for %s. Works %s.", words.TypeName(spec.Kind), place,
				text.Sanitize(words.PartName(spec.Point), 40), app, text.Duration(lasts), words.RuleWorks)},
			{Spare: figures, Text: "All sources; other paths, parts and types go on."},
		},
	})
}

func modeButton(s call.Situation, now string) call.Suggestion {
	app, lasts := s.Attack.App, s.Policy.ModeFor(apiclient.ModeBlock)
	return changesRules(s, call.Suggestion{
		Label: "Block mode", Title: "Switch to block mode?", OK: "Switch", Danger: true, Spoken: "Switch to block mode",
		Line: lineFor(s, "mode", appWord(app), apiclient.ModeBlock).With("for", grammar.DurationText(lasts)),
		Confirm: call.Dialog{
			{Text: fmt.Sprintf("For %s the WAF blocks all attacks that it detects on %s (now: %s). Works %s. Legitimate requests that it misjudges are blocked, too. No incidents are detected meanwhile.",
				text.Duration(lasts), text.Sanitize(s.Account.AppName(app), 30), words.ModeName(text.Sanitize(now, 20)),
				words.RuleWorks)},
			{Spare: returns, Text: "Returns by itself."},
		},
	})
}

// changesRules marks a button's line with what its dialog says, so that the click isn't asked about it again: a
// refusal is the worst that can happen.
func changesRules(s call.Situation, b call.Suggestion) call.Suggestion {
	if !s.Context.RulesLockedAt.IsZero() {
		b.Confirm = append(b.Confirm, call.Sentence{Spare: locked,
			Text: "The service's rules were locked lately: it may be refused."})
		b.Line.Flags = append(b.Line.Flags, call.FlagLocked)
	}
	return b
}

// clock is a moment in a dialog, in UTC: Slack shows no local times there.
func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }
