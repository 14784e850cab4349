package commands

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// sentence is one of a dialog's. Where there is no room for all of them, what matters least is left out.
type sentence struct {
	matters int
	text    string // "": there is nothing to say
}

// How much a sentence of a dialog matters. What the button does is never left out.
const (
	lookedAt = iota // what was looked at
	elsewhere
	locked
	returns
	blind // what can't be seen any more
	crowd // whom else it may hit
	does
)

// dialogRoom is how many characters a dialog has: what is left out of it the click asks about, so it is known here.
const dialogRoom = 300

// dialog is the sentences that a dialog has room for, in their order.
func dialog(all ...sentence) string {
	for {
		var said []string
		least := 0
		for i, s := range all {
			if s.text != "" {
				said = append(said, s.text)
			}
			if all[least].text == "" || s.text != "" && s.matters < all[least].matters {
				least = i
			}
		}
		words := strings.Join(said, " ")
		if text.Length(words) <= dialogRoom || len(said) < 2 || all[least].matters == does {
			return text.Sanitize(words, dialogRoom)
		}
		all = slices.Delete(slices.Clone(all), least, least+1)
	}
}

// Flags of lines whose dialog said what the click would else be asked about.
const (
	flagShared = "shared" // the source is likely shared by many
	flagLocked = "locked" // the rules are locked
)

func (s Situation) denyButton(top apiclient.Source) Suggestion {
	b := Suggestion{
		Label: "Deny " + top.IP.String() + ", " + text.HumanDuration(s.denyFor()), Title: "Deny " + top.IP.String() + "?", OK: "Deny",
		Line:    s.line("deny", top.IP.String()).With("for", grammar.DurationText(s.denyFor())),
		Confirm: dialog(s.denyWords(top), s.shared(top), s.elsewhere(top), s.checked()),
		Stops:   s.denyStops(top),
	}
	return s.knowing(b, top)
}

func (s Situation) containButton(top apiclient.Source, spec patchSpec) Suggestion {
	b := Suggestion{
		Label: "Deny " + top.IP.String() + " + patch", Title: "Deny and patch?", OK: "Deny + patch", Danger: true,
		Line:    s.line("contain", top.IP.String()).With("for", grammar.DurationText(s.denyFor())).With("patch", grammar.DurationText(s.patchFor())),
		Confirm: dialog(s.denyWords(top), s.shared(top), s.patchWords(spec, 90), s.locked("the patch"), s.elsewhere(top), s.checked()),
		Stops:   s.denyStops(top), Closes: patchCloses,
	}
	return s.knowing(b, top)
}

func (s Situation) patchButton(spec patchSpec) Suggestion {
	b := Suggestion{
		Label: "Patch, " + text.HumanDuration(s.patchFor()), Title: "Patch the hole?", OK: "Patch",
		Line:    s.line("patch").With("for", grammar.DurationText(s.patchFor())),
		Confirm: dialog(s.patchWords(spec, 150), s.locked("it")),
		Closes:  patchCloses,
	}
	return s.knowing(b, apiclient.Source{})
}

// patchCloses is what a patch does, for the card.
const patchCloses = "patch, minutes to 1 h, all sources"

// denyStops is what a denial does, for the card.
func (s Situation) denyStops(top apiclient.Source) string {
	return fmt.Sprintf("deny %s, about 1 min, %s", top.IP, s.share(top))
}

func (s Situation) switchButton(now string) Suggestion {
	app := s.Attack.App
	name := s.Account.AppName(app)
	b := Suggestion{
		Label: "Block mode, " + text.HumanDuration(s.modeFor()), Title: "Switch to block mode?", OK: "Switch", Danger: true,
		Line: s.line("mode", appWord(app), apiclient.ModeBlock).With("for", grammar.DurationText(s.modeFor())),
		Confirm: dialog(
			sentence{does, fmt.Sprintf("Switch %s from %s to block, in minutes to 1 h: every attack on it is blocked, and requests that only look like one.", name, modeName(now))},
			sentence{blind, "Incidents are registered only in monitoring: meanwhile nobody can tell whether an attack worked."},
			sentence{returns, "Returns by itself in " + text.HumanDuration(s.modeFor()) + "."},
			s.locked("it"),
		),
		Stops: "block mode on " + name + ", minutes to 1 h, all sources",
	}
	return s.knowing(b, apiclient.Source{})
}

// knowing marks a button's line with what its dialog says, so that the click isn't asked about it again. Whom else it hits it is asked about where the
// dialog had no room to say it.
func (s Situation) knowing(b Suggestion, top apiclient.Source) Suggestion {
	if SourceActivityShared(s.Scene.Seen[top.IP]) {
		b.Danger = true
		if strings.Contains(b.Confirm, s.shared(top).text) {
			b.Line.Flags = append(b.Line.Flags, flagShared)
		}
	}
	if !s.Scene.Locked.IsZero() && b.Line.Name != denying.name { // the card says so, and nothing worse can come of it than that answer
		b.Line.Flags = append(b.Line.Flags, flagLocked)
	}
	return b
}

func (s Situation) denyWords(top apiclient.Source) sentence {
	longer := ""
	if s.denyFor() < s.Policy.Renew {
		longer = ", longer while it keeps trying (" + text.HumanDuration(s.Policy.Renew) + " at most)"
	}
	return sentence{does, fmt.Sprintf("Deny %s everywhere for %s%s, in about 1 min: %s.", top.IP, text.HumanDuration(s.denyFor()), longer, s.share(top))}
}

func (s Situation) patchWords(spec patchSpec, limit int) sentence {
	scope := text.Sanitize(spec.scope.Method+" "+spec.scope.Host+spec.scope.Path+", part "+spec.point.String(), limit)
	return sentence{does, fmt.Sprintf("Patch exactly %s, %s only, for %s: in minutes to 1 h.", scope, TypeName(spec.kind), text.HumanDuration(s.patchFor()))}
}

// checked is what was looked at before the button was drawn. The guards run again at the click.
func (s Situation) checked() sentence {
	if s.LookedAt.IsZero() {
		return sentence{lookedAt, "Not one of yours; the lists are looked at on the click."}
	}
	return sentence{lookedAt, "Not allowlisted, not one of yours."}
}

// shared says that a source is likely many people's.
func (s Situation) shared(top apiclient.Source) sentence {
	seen := s.Scene.Seen[top.IP]
	if !SourceActivityShared(seen) {
		return sentence{}
	}
	return sentence{crowd, "LIKELY A CDN, PROXY OR OFFICE (" + sourceActivityWhere(seen) + "): it may hit everybody behind it."}
}

// elsewhere says in how many other attacks a source is.
func (s Situation) elsewhere(top apiclient.Source) sentence {
	seen := s.Scene.Seen[top.IP]
	text := SourceActivityElsewhere(seen, s.Attack, top.IP)
	if text == "" || SourceActivityShared(seen) || s.Storm != nil { // of a storm that is what it has gathered
		return sentence{}
	}
	return sentence{elsewhere, strings.ToUpper(text[:1]) + text[1:] + "."}
}

// locked says that what changes rules may be refused.
func (s Situation) locked(what string) sentence {
	if s.Scene.Locked.IsZero() {
		return sentence{}
	}
	return sentence{locked, "The service's rules were locked lately: " + what + " may be refused."}
}

func sourceActivityWhere(s record.SourceActivity) string {
	return "in " + text.Count(s.Attacks, "attack") + " on " + text.Count(s.Apps, "application")
}

// crowd is the card's warning of a source that is likely many people's.
func (s Situation) crowd(top apiclient.Source) []text.Text {
	seen := s.Scene.Seen[top.IP]
	if !SourceActivityShared(seen) {
		return nil
	}
	return []text.Text{crowdWords(grammar.RangeOf(onlyAddr(top.IP)), seen)}
}

func crowdWords(t grammar.Target, seen record.SourceActivity) text.Text {
	return text.New(text.Code(t.String()), " is ", text.Bold("likely a CDN, proxy or office"), ": it is ", sourceActivityWhere(seen), ", and denying it may hit everybody behind it")
}

func lockedWords(at time.Time) text.Text {
	return text.New(text.Bold("The service's rules are locked"), ", as it said at ", at, ": patches, modes and other rules may be refused for some minutes")
}
