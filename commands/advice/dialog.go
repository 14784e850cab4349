package advice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/text"
)

// Which sentence of a dialog is left out first where there is no room for all: the last of these. What the button does is never left out.
const (
	crowd          = iota + 1 // whom else it may hit
	hidesIncidents            // what can't be seen any more
	returns
	locked
	elsewhere
	checkedFirst // what was checked
)

// dialog is of the sentences that say something.
func dialog(all ...call.Sentence) call.Dialog {
	return slices.DeleteFunc(all, func(s call.Sentence) bool { return s.Text == "" })
}

func denyButton(s call.Situation, top apiclient.Source) call.Suggestion {
	b := call.Suggestion{
		Label: "Deny " + top.IP.String() + ", " + text.Duration(denyFor(s)), Title: "Deny " + top.IP.String() + "?", OK: "Deny",
		Line:    lineFor(s, "deny", top.IP.String()).With("for", grammar.DurationText(denyFor(s))),
		Confirm: dialog(denyWords(s, top), shared(s, top), elsewhereSentence(s, top), checked(s)),
		Stops:   denyStops(s, top),
	}
	return knowing(s, b, top)
}

func containButton(s call.Situation, top apiclient.Source, spec change.Patch) call.Suggestion {
	b := call.Suggestion{
		Label: "Deny " + top.IP.String() + " + patch", Title: "Deny and patch?", OK: "Deny + patch", Danger: true,
		Line:    lineFor(s, "contain", top.IP.String()).With("for", grammar.DurationText(denyFor(s))).With("patch", grammar.DurationText(patchFor(s))),
		Confirm: dialog(denyWords(s, top), shared(s, top), patchWords(s, spec, 90), lockedSentence(s, "the patch"), elsewhereSentence(s, top), checked(s)),
		Stops:   denyStops(s, top), Closes: patchCloses,
	}
	return knowing(s, b, top)
}

func patchButton(s call.Situation, spec change.Patch) call.Suggestion {
	b := call.Suggestion{
		Label: "Patch, " + text.Duration(patchFor(s)), Title: "Patch the hole?", OK: "Patch",
		Line:    lineFor(s, "patch").With("for", grammar.DurationText(patchFor(s))),
		Confirm: dialog(patchWords(s, spec, 150), lockedSentence(s, "it")),
		Closes:  patchCloses,
	}
	return knowing(s, b, apiclient.Source{})
}

// patchCloses is what a patch does, for the card.
const patchCloses = "patch, minutes to 1 h, all sources"

// denyStops is what a denial does, for the card.
func denyStops(s call.Situation, top apiclient.Source) string {
	return fmt.Sprintf("deny %s, about 1 min, %s", top.IP, share(s, top))
}

func switchButton(s call.Situation, now string) call.Suggestion {
	app := s.Attack.App
	name := s.Account.AppName(app)
	b := call.Suggestion{
		Label: "Block mode, " + text.Duration(modeFor(s)), Title: "Switch to block mode?", OK: "Switch", Danger: true,
		Line: lineFor(s, "mode", appWord(app), apiclient.ModeBlock).With("for", grammar.DurationText(modeFor(s))),
		Confirm: dialog(
			call.Sentence{Text: fmt.Sprintf("Switch %s from %s to block, in minutes to 1 h: every attack on it is blocked, and requests that only look like one.", name, describe.ModeName(now))},
			call.Sentence{Spare: hidesIncidents, Text: "Incidents are registered only in monitoring: meanwhile it is unknown whether an attack worked."},
			call.Sentence{Spare: returns, Text: "Returns by itself in " + text.Duration(modeFor(s)) + "."},
			lockedSentence(s, "it"),
		),
		Stops: "block mode on " + name + ", minutes to 1 h, all sources",
	}
	return knowing(s, b, apiclient.Source{})
}

// knowing marks a button's line with what its card says, so that the click isn't asked about it again.
func knowing(s call.Situation, b call.Suggestion, top apiclient.Source) call.Suggestion {
	if describe.LikelyShared(s.Context.Sources[top.IP]) {
		b.Danger = true
	}
	if !s.Context.RulesLockedAt.IsZero() && b.Line.Name != change.Denying.Name { // the card says so, and nothing worse can come of it than that answer
		b.Line.Flags = append(b.Line.Flags, call.FlagLocked)
	}
	return b
}

func denyWords(s call.Situation, top apiclient.Source) call.Sentence {
	longer := ""
	if denyFor(s) < s.Policy.Renew {
		longer = ", longer while it keeps trying (" + text.Duration(s.Policy.Renew) + " at most)"
	}
	return call.Sentence{Text: fmt.Sprintf("Deny %s everywhere for %s%s, in about 1 min: %s.", top.IP, text.Duration(denyFor(s)), longer, share(s, top))}
}

func patchWords(s call.Situation, spec change.Patch, limit int) call.Sentence {
	scope := text.Sanitize(spec.Scope.Method+" "+spec.Scope.Host+spec.Scope.Path+", part "+spec.Point.String(), limit)
	return call.Sentence{Text: fmt.Sprintf("Patch exactly %s, %s only, for %s: in minutes to 1 h.", scope, describe.TypeName(spec.Kind), text.Duration(patchFor(s)))}
}

// checked is what was checked before the button was drawn. The guards run again at the click.
func checked(s call.Situation) call.Sentence {
	if s.ListsReadAt.IsZero() {
		return call.Sentence{Spare: checkedFirst, Text: "Not one of yours; the lists are looked at on the click."}
	}
	return call.Sentence{Spare: checkedFirst, Text: "Not allowlisted, not one of yours."}
}

// shared says that a source is likely many people's.
func shared(s call.Situation, top apiclient.Source) call.Sentence {
	seen := s.Context.Sources[top.IP]
	if !describe.LikelyShared(seen) {
		return call.Sentence{}
	}
	return call.Sentence{Spare: crowd, Text: "LIKELY A CDN, PROXY OR OFFICE (" + describe.Spread(seen) + "): it may hit all users behind it.", Flag: call.FlagShared}
}

// elsewhereSentence says in how many other attacks a source is.
func elsewhereSentence(s call.Situation, top apiclient.Source) call.Sentence {
	seen := s.Context.Sources[top.IP]
	text := describe.Elsewhere(seen, s.Attack, top.IP)
	if text == "" || describe.LikelyShared(seen) || s.Storm != nil { // of a storm that is what it has grouped
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

// crowdLines is the card's warning of a source that is likely many people's.
func crowdLines(s call.Situation, top apiclient.Source) []text.Text {
	seen := s.Context.Sources[top.IP]
	if !describe.LikelyShared(seen) {
		return nil
	}
	return []text.Text{describe.Shared(grammar.RangeOf(grammar.OnlyAddr(top.IP)), seen)}
}
