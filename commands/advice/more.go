package advice

import (
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
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
	a, blocks := s.Attack, !WatchedOnly(s)
	if s.Storm == nil && blocks && apiclient.Patchable(a.Type) {
		g.add("Deny + patch", "The top source in about 1 min, the hole in minutes", lineFor(s, "contain"))
		g.add("Patch only", "All sources, in minutes to 1 h", lineFor(s, "patch"))
	}
	g.add("Deny several", "Several sources, a list, a country, Tor, data centers: in about 1 min", lineFor(s, "deny"))
	if blocks {
		g.add("Block by header", "What its requests have in common, as a User-Agent: in minutes to 1 h", lineFor(s, "indicator"))
	}
	if s.Storm == nil && blocks && a.App.Known {
		name := s.Account.AppName(a.App)
		g.add("Mode of "+text.Field(name), "All of "+name+", in minutes to 1 h", lineFor(s, "mode", appWord(a.App)))
	}
	if method, host, path, ok := blockable(s); ok && blocks {
		g.add("Block "+text.Field(method+" "+path), "Blocks all requests, clean ones too", lineFor(s, "block-path", method, host+path))
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
		if source := s.Storm.Source; source.IsValid() {
			g.add("Mute "+source.String(), "No notifications of this source for a while; incidents are posted all the same", lineFor(s, "mute").With("attack", "").With("source", source.String()))
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
	return []call.Suggestion{{Label: "Undo…", Spoken: "Undo what was done", Line: lineFor(s, "undo", ids...).With("attack", ""), Form: true}}
}

// Triage are the buttons for an attack that nothing gets through of any more.
func Triage(s call.Situation) []call.Suggestion {
	return []call.Suggestion{
		{Label: "Verdict…", Line: lineFor(s, "verdict"), Form: true},
		{Label: "Report", Line: lineFor(s, "report")},
	}
}

// blockable is the path that an attack is on; of a storm the one that most of it goes to, with its host. ok reports
// whether a line can name it.
func blockable(s call.Situation) (method, host, path string, ok bool) {
	if s.Storm != nil {
		method, path, ok = stormPlace(s)
		return method, "", path, ok
	}
	_, why := change.PatchFor(s.Attack)
	return s.Attack.Method, s.Attack.Domain, s.Attack.Path, why.Scope == "" && namesMethod(s.Attack.Method)
}

// namesMethod reports whether a line can name a method: it takes FOREVER, which attackers may write, for a length of
// time.
func namesMethod(method string) bool { return method != "" && !grammar.IsDuration(method) }
