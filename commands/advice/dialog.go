package advice

import (
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/text"
)

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
	lasts, deny := change.Denying.Lasts(s.Policy), "Deny "+source.IP.String()
	label, length, also := deny, text.Duration(lasts), ""
	if text.Length(label) >= maxLabel { // its dialog's title has room for one more
		label = "Deny top source"
	}
	if lasts < s.Policy.RenewWhileActive {
		length += ", longer while it keeps trying (" + text.Duration(s.Policy.RenewWhileActive) + " at most)"
	}
	seen, behind := s.Context.Sources[source.IP],
		call.Sentence{Spare: crowd, Text: "Everyone behind this address is blocked."}
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
		Line: lineFor(s, "deny", source.IP.String()).With("for", grammar.DurationText(lasts)),
		Confirm: call.Dialog{
			{Text: fmt.Sprintf("%s on all applications for %s, usually within 1 min.", source.IP, length)},
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
				text.Duration(lasts), text.Sanitize(s.Account.AppName(app), 30), words.ModeName(text.Sanitize(now, 20)), words.RuleWorks)},
			{Spare: returns, Text: "Returns by itself."},
		},
	})
}

// changesRules marks a button's line with what its dialog says, so that the click isn't asked about it again: nothing
// worse can come of it than that answer.
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
