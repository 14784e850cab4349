package advice

import (
	"fmt"
	"slices"
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

// dialog is of the sentences that say something.
func dialog(all ...call.Sentence) call.Dialog {
	return slices.DeleteFunc(all, func(s call.Sentence) bool { return s.Text == "" })
}

// denyButton denies one source. Slack opens its dialog before wafbot hears of the click, so all that matters stands
// there.
func denyButton(s call.Situation, source through) call.Suggestion {
	label := "Deny " + source.IP.String()
	if text.Length(label) >= maxLabel { // its dialog's title has room for one more
		label = "Deny top source"
	}
	length := text.Duration(denyFor(s))
	if denyFor(s) < s.Policy.RenewWhileActive {
		length += ", longer while it keeps trying (" + text.Duration(s.Policy.RenewWhileActive) + " at most)"
	}
	b := call.Suggestion{
		Label: label, Title: label + "?", OK: "Deny", Spoken: "Deny " + source.IP.String(),
		Line: lineFor(s, "deny", source.IP.String()).With("for", grammar.DurationText(denyFor(s))),
		Confirm: dialog(
			call.Sentence{Text: fmt.Sprintf("%s on all applications for %s, usually within 1 min.", source.IP, length)},
			shortEntry(denyFor(s)),
			call.Sentence{Spare: figures, Text: shareWords(s, source)},
			everyoneBehind(s, source.Source), elsewhereSentence(s, source.Source), checked(s)),
	}
	return knowing(s, b, source.Source)
}

// shortEntry says that a list entry may hold longer than the dialog says.
func shortEntry(length time.Duration) call.Sentence {
	words := words.ShortEntry(length)
	if words == "" {
		return call.Sentence{}
	}
	return call.Sentence{Text: strings.ToUpper(words[:1]) + words[1:] + "."}
}

// shareWords say how much of the attack a denial stops, and what goes on.
func shareWords(s call.Situation, source through) string {
	if s.Storm != nil {
		return reachWords(*s.Storm, source.Source)
	}
	share := "Its share of hits is unknown."
	if percent, ok := source.share(); ok {
		share = words.Percent(percent) + " of hits"
		if _, at := lastObserved(s); !at.IsZero() {
			share += " since the last change"
		}
		share += " as of " + clock(s.Now) + "."
	}
	if others := othersThrough(s); others > 0 {
		share = strings.TrimSuffix(share, ".") + "; " + goOn(others)
	}
	return share
}

func goOn(others int64) string {
	if others == 1 {
		return "the other source goes on."
	}
	return "the other " + text.Number(others) + " sources go on."
}

// othersThrough is how many sources get through when one more is denied, at most.
func othersThrough(s call.Situation) int64 {
	n := s.Attack.SourceCount.N - 1
	for _, source := range s.Attack.Sources {
		if covered(s, source) {
			n--
		}
	}
	return n
}

// patchButton closes the hole for all sources.
func patchButton(s call.Situation, spec change.Patch) call.Suggestion {
	b := call.Suggestion{
		Label: "Patch", Title: "Patch the hole?", OK: "Patch", Spoken: "Patch the hole",
		Line: lineFor(s, "patch").With("for", grammar.DurationText(patchFor(s))),
		Confirm: dialog(
			call.Sentence{Text: patchWords(s, spec)},
			call.Sentence{Spare: figures, Text: "All sources; other paths, parts and types go on."},
			lockedSentence(s, "it")),
	}
	return knowing(s, b, apiclient.Source{})
}

// patchWords name path, part, type and application of a patch.
func patchWords(s call.Situation, spec change.Patch) string {
	place := strings.TrimSpace(text.Sanitize(spec.Scope.Method+" "+spec.Scope.Host+spec.Scope.Path, 110))
	return fmt.Sprintf("Blocks %s in %s, %s, %s, for %s. Works %s.", words.TypeName(spec.Kind), place, text.Sanitize(words.PartName(spec.Point), 40), patchedApp(s, spec), text.Duration(patchFor(s)), words.RuleWorks)
}

// patchedApp is the application that a patch is for, by name and number.
func patchedApp(s call.Situation, spec change.Patch) string {
	app := spec.Scope.App
	if !app.Known {
		return "on all applications"
	}
	return fmt.Sprintf("only on %s (%d)", text.Sanitize(s.Account.AppName(app), 30), app.N)
}

func modeButton(s call.Situation, now string) call.Suggestion {
	app := s.Attack.App
	name := text.Sanitize(s.Account.AppName(app), 30)
	b := call.Suggestion{
		Label: "Block mode", Title: "Switch to block mode?", OK: "Switch", Danger: true, Spoken: "Switch to block mode",
		Line: lineFor(s, "mode", appWord(app), apiclient.ModeBlock).With("for", grammar.DurationText(modeFor(s))),
		Confirm: dialog(
			call.Sentence{Text: fmt.Sprintf("For %s the WAF blocks all attacks that it detects on %s (now: %s). Works %s. Legitimate requests that it misjudges are blocked, too. No incidents are detected meanwhile.",
				text.Duration(modeFor(s)), name, words.ModeName(text.Sanitize(now, 20)), words.RuleWorks)},
			call.Sentence{Spare: returns, Text: "Returns by itself."},
			lockedSentence(s, "it"),
		),
	}
	return knowing(s, b, apiclient.Source{})
}

// knowing marks a button's line with what its dialog says, so that the click isn't asked about it again.
func knowing(s call.Situation, b call.Suggestion, source apiclient.Source) call.Suggestion {
	if words.LikelyShared(s.Context.Sources[source.IP]) {
		b.Danger = true
	}
	if !s.Context.RulesLockedAt.IsZero() && b.Line.Name != change.Denying.Name { // nothing worse can come of it than that answer
		b.Line.Flags = append(b.Line.Flags, call.FlagLocked)
	}
	return b
}

// checked is what was checked before the button was drawn. The guards run again at the click.
func checked(s call.Situation) call.Sentence {
	if s.ListsReadAt.IsZero() {
		return call.Sentence{Spare: checkedFirst, Text: "The lists are read when pressed."}
	}
	return call.Sentence{Spare: checkedFirst, Text: "Not allowlisted at " + clock(s.ListsReadAt) + "; checked again when pressed."}
}

// clock is a moment in a dialog, in UTC: Slack shows no local times there.
func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }

// everyoneBehind says whom else a denial hits.
func everyoneBehind(s call.Situation, source apiclient.Source) call.Sentence {
	seen := s.Context.Sources[source.IP]
	if !words.LikelyShared(seen) {
		return call.Sentence{Spare: crowd, Text: "Everyone behind this address is blocked."}
	}
	return call.Sentence{Spare: crowd, Text: "LIKELY A CDN, PROXY OR OFFICE (" + words.Spread(seen) + "): everyone behind it is blocked.", Flag: call.FlagShared}
}

// elsewhereSentence says in how many other attacks a source is.
func elsewhereSentence(s call.Situation, source apiclient.Source) call.Sentence {
	seen := s.Context.Sources[source.IP]
	text := words.Elsewhere(seen, s.Attack, source.IP)
	if text == "" || words.LikelyShared(seen) || s.Storm != nil { // the words before say it of a storm
		return call.Sentence{}
	}
	return call.Sentence{Spare: elsewhere, Text: strings.ToUpper(text[:1]) + text[1:] + "."}
}

// lockedSentence says that what changes rules may be refused.
func lockedSentence(s call.Situation, what string) call.Sentence {
	if s.Context.RulesLockedAt.IsZero() {
		return call.Sentence{}
	}
	return call.Sentence{Spare: locked, Text: "The service's rules were locked lately: " + what + " may be refused."}
}

// crowdLines warn of a source that is likely many people's.
func crowdLines(s call.Situation, source apiclient.Source) []text.Text {
	seen := s.Context.Sources[source.IP]
	if !words.LikelyShared(seen) {
		return nil
	}
	return []text.Text{words.Shared(grammar.RangeOf(grammar.OnlyAddr(source.IP)), seen)}
}
