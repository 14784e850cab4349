package advice

import (
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// More is what can be done about an attack or storm beside its card's buttons. Nothing of it acts at once: each opens a form, or shows what is asked for.
func More(s call.Situation) []call.Suggestion {
	var all []call.Suggestion
	add := func(label, about string, l record.Line) {
		all = append(all, call.Suggestion{Label: label + "…", Line: l, Stops: about, Form: true})
	}
	if s.Storm != nil {
		add("List", "All grouped attacks", record.Line{Name: "attacks"}.With("storm", s.ID).With("account", s.Account.Name))
	}
	if s.Policy.ChangesNow() != policy.ChangesOff {
		moreMitigations(s, add)
	}
	switch {
	case s.Storm != nil:
		add("Cards", "Own cards for what gets through, or for all of it, 20 at a time", lineFor(s, "cards"))
		if source := s.Storm.Source; source.IsValid() {
			add("Mute "+source.String(), "No notifications of this source for a while; incidents are posted all the same", lineFor(s, "mute").With("attack", "").With("source", source.String()))
		}
	case !s.Attack.Incident():
		add("Mute", "No notifications of it for a while", lineFor(s, "mute"))
	}
	add("Hand over", "Hand it over", lineFor(s, "handover"))
	add("Note", "For the others, on the card", lineFor(s, "note"))
	add("Verdict", "Real, a false positive, or a test", lineFor(s, "verdict"))
	add("Report", "What happened and what was done, as Markdown to be copied", lineFor(s, "report"))
	return all
}

// moreMitigations are those that change something at the service.
func moreMitigations(s call.Situation, add func(label, about string, l record.Line)) {
	a, blocks := s.Attack, !WatchedOnly(s)
	if s.Storm == nil && blocks && apiclient.Patchable(a.Type) {
		add("Patch only", "All sources, in minutes to 1 h", lineFor(s, "patch"))
	}
	add("Deny several", "Several sources, a list, a country, Tor, data centers: in about 1 min", lineFor(s, "deny"))
	if blocks {
		add("Block by header", "What its requests have in common, as a User-Agent: in minutes to 1 h", lineFor(s, "indicator"))
	}
	if s.Storm == nil && blocks && a.App.Known {
		name := s.Account.AppName(a.App)
		add("Mode of "+text.Sanitize(name, text.MaxField), "All of "+name+", in minutes to 1 h", lineFor(s, "mode", appWord(a.App)))
	}
	if method, host, path, ok := blockable(s); ok && blocks {
		add("Block "+text.Sanitize(method+" "+path, text.MaxField), "Blocks all requests, clean ones too", lineFor(s, "block-path", method, host+path))
	}
	moreExtend(s, add)
}

// blockable is the path that an attack is on; of a storm the one that most of it goes to, with its host. ok reports whether a line can name it.
func blockable(s call.Situation) (method, host, path string, ok bool) {
	if s.Storm != nil {
		method, path, ok = stormPlace(s)
		return method, "", path, ok
	}
	_, why := change.PatchFor(s.Attack)
	return s.Attack.Method, s.Attack.Domain, s.Attack.Path, why.Scope == "" && s.Attack.Method != ""
}

// moreExtend are the changes that end.
func moreExtend(s call.Situation, add func(label, about string, l record.Line)) {
	ending := slices.DeleteFunc(slices.Clone(s.Changes), func(ch record.Change) bool { return !ch.InForce(s.Now) || ch.Until.IsZero() || ch.Parent() != "" })
	slices.SortStableFunc(ending, func(x, y record.Change) int { return x.Until.Compare(y.Until) })
	for i, ch := range ending {
		if i == maxExtend {
			add("Extend another", fmt.Sprintf("%d more hold for a time", len(ending)-i), lineFor(s, "extend").With("attack", ""))
			break
		}
		add("Extend "+ch.ID, ch.Does, lineFor(s, "extend", ch.ID).With("attack", ""))
	}
}

// maxExtend is how many changes can be extended with one press: those that end first. A view holds a hundred things.
const maxExtend = 20

// Alternatives are what can stop an attack of which denying one source stops next to nothing.
func Alternatives(s call.Situation) []call.Suggestion {
	return []call.Suggestion{
		{Label: "Block by header…", Line: lineFor(s, "indicator"), Form: true},
		{Label: "Deny a list…", Line: lineFor(s, "deny"), Form: true},
	}
}
