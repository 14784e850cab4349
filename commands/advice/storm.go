package advice

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// adviseStorm finds what stops a storm: one source that is denied, or what can be done where most of it goes; and who asks gets cards of its own
// for what gets through beside it.
func adviseStorm(s call.Situation, a *Advice) {
	switch {
	case s.Policy.Changes == policy.ChangesOff:
		a.Notes = append(a.Notes, text.New("Changes are switched off (", text.Code("policy.changes: off"), ")"))
	case !s.Storm.Source.IsValid():
		a.Notes = append(a.Notes, noStormDeny(s)...)
	default:
		top, note := deniable(s)
		if note != nil {
			a.Notes = append(a.Notes, note)
		}
		if top != nil {
			a.Notes = append(a.Notes, crowdLines(s, *top)...)
			a.Suggestions = append(a.Suggestions, denyButton(s, *top))
		}
	}
	if b, ok := ownCardsButton(s); ok {
		a.Suggestions = append(a.Suggestions, b)
	}
}

// noStormDeny says what stops a storm that no one source is behind.
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

// stormPlace is the path that most of the storm goes to, as a line names it; ok tells whether there is one and it is known whole.
func stormPlace(s call.Situation) (method, place string, ok bool) {
	method, place, ok = strings.Cut(s.Storm.Place, " ")
	return method, place, ok && method != "" && !strings.HasSuffix(place, "…") && place == text.Sanitize(place, text.MaxHost+text.MaxPath)
}

// ownCardsButton gives the outliers cards of their own.
func ownCardsButton(s call.Situation) (call.Suggestion, bool) {
	label := "Own card for the outlier"
	switch left := s.Storm.OutlierCount; {
	case left == 0:
		return call.Suggestion{}, false
	case left > describe.MostCards:
		label = fmt.Sprintf("Own cards for %d of the %s", describe.MostCards, text.Number(left))
	case left > 1:
		label = fmt.Sprintf("Own cards for the %d", left)
	}
	return call.Suggestion{Label: label, Line: lineFor(s, "cards")}, true
}

// moreStorm is what can be done about a storm beside its card's buttons.
func moreStorm(s call.Situation, add func(label, about string, l record.Line)) {
	list := record.Line{Name: "attacks"}.With("storm", s.ID).With("account", s.Account.Name)
	add("List", "All grouped attacks", list)
	if s.Policy.Changes != policy.ChangesOff {
		add("Deny several", "Several sources, a list, a country, Tor, data centers: in about 1 min", lineFor(s, "deny"))
		if !WatchedOnly(s) {
			add("Block by header", "What its requests have in common, as a User-Agent: in minutes to 1 h", lineFor(s, "indicator"))
			if method, place, ok := stormPlace(s); ok {
				add("Block "+text.Sanitize(method+" "+place, text.MaxField), "Blocks all requests, clean ones too", lineFor(s, "block-path", method, place))
			}
		}
		moreExtend(s, add)
	}
	add("Cards", "Own cards for what gets through, or for all of it, 20 at a time", lineFor(s, "cards"))
	if s.Storm.Source.IsValid() {
		add("Mute "+s.Storm.Source.String(), "No notifications of this source for a while; incidents are posted all the same", lineFor(s, "mute").With("attack", "").With("source", s.Storm.Source.String()))
	}
}
