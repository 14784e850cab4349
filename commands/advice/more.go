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

// More is what can be done about an attack beside its card's buttons. Nothing of it acts at once: each opens a form, or shows what is asked for.
func More(s call.Situation) []call.Suggestion {
	var all []call.Suggestion
	add := func(label, about string, l record.Line) {
		all = append(all, call.Suggestion{Label: label + "…", Line: l, Stops: about, Form: true})
	}
	switch {
	case s.Storm != nil:
		moreStorm(s, add)
	case s.Policy.Changes != policy.ChangesOff:
		moreMitigations(s, add)
	}
	if s.Storm == nil && !s.Attack.Incident() {
		add("Mute", "Hear nothing of it for a while", lineFor(s, "mute"))
	}
	add("Hand over", "Hand it over", lineFor(s, "handover"))
	add("Note", "For the others, on the card", lineFor(s, "note"))
	add("Verdict", "Real, a false positive, or a test", lineFor(s, "verdict"))
	add("Report", "What happened and what was done, as Markdown to be copied", lineFor(s, "report"))
	return all
}

// moreMitigations are those that change something at the service.
func moreMitigations(s call.Situation, add func(label, about string, l record.Line)) {
	a := s.Attack
	cannotBlock := WatchedOnly(s)
	if apiclient.Patchable(a.Type) && !cannotBlock {
		add("Patch only", "All sources, in minutes to 1 h", lineFor(s, "patch"))
	}
	add("Deny several", "Several sources, a list, a country, Tor, data centers: in about 1 min", lineFor(s, "deny"))
	if !cannotBlock {
		add("Block by header", "What its requests have in common, as a User-Agent: in minutes to 1 h", lineFor(s, "indicator"))
	}
	if a.App.Known && !cannotBlock {
		name := s.Account.AppName(a.App)
		add("Mode of "+text.Sanitize(name, text.MaxField), "All of "+name+", in minutes to 1 h", lineFor(s, "mode", appWord(a.App)))
	}
	if _, why := change.PatchFor(a); why.Scope == "" && a.Method != "" && !cannotBlock {
		add("Block "+text.Sanitize(a.Method+" "+a.Path, text.MaxField), "Blocks all requests, clean ones too", lineFor(s, "block-path", a.Method, a.Domain+a.Path))
	}
	moreExtend(s, add)
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
