package advice

import (
	"fmt"
	"maps"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

// topSource is the busiest source that the service lists; of a storm the one behind most of it, with its hits as far as
// they are known.
func topSource(s call.Situation) (apiclient.Source, bool) {
	if s.Storm == nil {
		return call.TopSource(s.Attack)
	}
	if i := slices.IndexFunc(s.Attack.Sources, func(one apiclient.Source) bool { return one.IP == s.Storm.Source }); i >= 0 {
		return s.Attack.Sources[i], true
	}
	return apiclient.Source{IP: s.Storm.Source, Country: s.Storm.Country}, s.Storm.Source.IsValid()
}

// listedEntry is the entry that holds for a source of the attack, if there is one, and where and until when it does.
func listedEntry(s call.Situation, list string, source apiclient.Source) (e *apiclient.IPRule, where text.Text) {
	if e = efficacy.Listed(s, list, source); e == nil {
		return nil, nil
	}
	if !call.Everywhere(e.Apps) {
		where.Addf(" for %v", s.Account.AppName(s.Attack.App))
	}
	return e, text.New(where, words.Until(e.Expires))
}

// WatchedOnly reports whether the nodes of the attack's application, or of all that a storm is on, only watch, so that
// nothing stops it there.
func WatchedOnly(s call.Situation) bool {
	watched := func(app int64) bool { return s.Account.Applications[int(app)].CannotBlock() }
	if s.Storm == nil {
		return s.Attack.App.Known && watched(s.Attack.App.N)
	}
	apps := slices.Collect(maps.Keys(s.Storm.Apps))
	return len(apps) > 0 && len(slices.DeleteFunc(apps, watched)) == 0
}

// deniedSources finds the attack's sources that must never be denied and are, by an entry that wafbot didn't make: it
// may shut customers out, which matters more than the attack. Each entry has a button that takes it off.
func deniedSources(s call.Situation) (lines text.Lines, open []call.Suggestion) {
	sources := s.Attack.Sources
	if top, ok := topSource(s); ok {
		sources = append([]apiclient.Source{top}, sources...)
	}
	var seen []int64
	for _, source := range sources {
		own, named := s.Policy.SourceOf(source.IP)
		if !named || own.Deny == config.DenyApproval {
			continue
		}
		e, where := listedEntry(s, apiclient.ListDeny, source)
		if e == nil || slices.Contains(seen, e.ID) {
			continue
		}
		seen = append(seen, e.ID)
		off := s.Policy.ChangesNow() == config.ChangesOff
		how := text.Sentence("*%v IS DENIED*%v: customers may be shut out. An admin takes it off: `remove %v list=black`")
		if off {
			how = "*%v IS DENIED*%v: customers may be shut out. Take `%v` off the denylist in the service's console"
		}
		if lines.Addf(how, text.Sanitize(own.Name, text.MaxField/2), where, words.Sources(*e)); off {
			continue
		}
		open = append(open, call.Suggestion{
			Label: "End deny of " + text.Sanitize(own.Name, 12), Spoken: "Take " + text.Sanitize(own.Name, 30) + " off the denylist",
			Line: lineFor(s, "remove", fmt.Sprint(e.ID)),
		})
	}
	return lines, open
}
