package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// adviseStorm finds what stops a storm: one source that is denied, or what can be done where most of it goes; and who asks gets cards of its own
// for what gets through beside it.
func (s Situation) adviseStorm(a *Advice) {
	switch {
	case s.Policy.Changes == ChangesOff:
		a.Notes = append(a.Notes, text.New("Changes are switched off (", text.Code("policy.changes: off"), ")"))
	case !s.Storm.Source.IsValid():
		a.Notes = append(a.Notes, s.noStormDeny()...)
	default:
		top, note := s.deniable()
		if note != nil {
			a.Notes = append(a.Notes, note)
		}
		if top != nil {
			a.Notes = append(a.Notes, s.crowd(*top)...)
			a.Suggestions = append(a.Suggestions, s.denyButton(*top))
		}
	}
	if b, ok := s.ownCardsButton(); ok {
		a.Suggestions = append(a.Suggestions, b)
	}
}

// source is the one behind most of the storm, with its hits as far as they are known.
func stormSource(s record.Storm, a apiclient.Attack) (apiclient.Source, bool) {
	if i := slices.IndexFunc(a.Sources, func(one apiclient.Source) bool { return one.IP == s.Source }); i >= 0 {
		return a.Sources[i], true
	}
	return apiclient.Source{IP: s.Source, Country: s.Country}, s.Source.IsValid()
}

// watchedOnly reports whether all applications that the storm is on only watch.
func stormWatchedOnly(s record.Storm, a *Account) bool {
	for app := range s.Apps {
		if !a.Applications[int(app)].CannotBlock {
			return false
		}
	}
	return len(s.Apps) > 0
}

// noStormDeny says what stops a storm that no one source is behind.
func (s Situation) noStormDeny() []text.Text {
	lines := []text.Text{text.New(text.Bold("No one deny stops this."), " ", text.Bold("What can:"), " a rate limit or captcha in the application · a header that the requests share, your own list of addresses: under More")}
	method, place, ok := s.stormPlace()
	if !ok || s.WatchedOnly() {
		return lines
	}
	closing := record.Line{Name: "close", Words: []string{method, place}}.With("for", "30m")
	line := text.New("At that path: ", text.Code(closing.String()), " lets nobody through, clean requests neither")
	if apiclient.Patchable(s.Attack.Type) {
		patching := record.Line{Name: "patch", Words: []string{method, place}}.With("type", s.Attack.Type).With("part", "…")
		line = text.New(line, " · ", text.Code(patching.String()), " closes the hole alone; the part is in the list")
	}
	return append(lines, line)
}

// stormPlace is the path that most of the storm goes to, as a line names it; ok tells whether there is one and it is known whole.
func (s Situation) stormPlace() (method, place string, ok bool) {
	method, place, ok = strings.Cut(s.Storm.Place, " ")
	return method, place, ok && method != "" && !strings.HasSuffix(place, "…") && place == text.Sanitize(place, text.MaxHost+text.MaxPath)
}

// ownCardsButton gives the odd ones out cards of their own.
func (s Situation) ownCardsButton() (Suggestion, bool) {
	label := "Own card for the outlier"
	switch left := s.Storm.OddCount; {
	case left == 0:
		return Suggestion{}, false
	case left > mostCards:
		label = fmt.Sprintf("Own cards for %d of the %s", mostCards, text.Number(left))
	case left > 1:
		label = fmt.Sprintf("Own cards for the %d", left)
	}
	return Suggestion{Label: label, Line: s.line("cards")}, true
}

// moreStorm is what can be done about a storm beside its card's buttons.
func (s Situation) moreStorm(add func(label, about string, l record.Line)) {
	list := record.Line{Name: "attacks"}.With("storm", s.ID).With("account", s.Account.Name)
	add("List", "All grouped attacks", list)
	if s.Policy.Changes != ChangesOff {
		add("Deny several", "Several sources, a list, a country, Tor, data centers: in about 1 min", s.line("deny"))
		if !s.WatchedOnly() {
			add("Block by header", "What its requests have in common, as a User-Agent: in minutes to 1 h", s.line("indicator"))
			if method, place, ok := s.stormPlace(); ok {
				add("Close "+text.Sanitize(method+" "+place, text.MaxField), "Nobody gets through, clean requests neither", s.line("close", method, place))
			}
		}
		s.moreProlong(add)
	}
	add("Cards", "Own cards for what gets through, or for all of it, 20 at a time", s.line("cards"))
	if s.Storm.Source.IsValid() {
		add("Mute "+s.Storm.Source.String(), "Hear nothing of this source for a while; incidents are told as ever", s.line("mute").With("attack", "").With("source", s.Storm.Source.String()))
	}
}
