package advice

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
)

// stormSource is the one behind most of the storm, with its hits as far as they are known.
func stormSource(s record.Storm, a apiclient.Attack) (apiclient.Source, bool) {
	if i := slices.IndexFunc(a.Sources, func(one apiclient.Source) bool { return one.IP == s.Source }); i >= 0 {
		return a.Sources[i], true
	}
	return apiclient.Source{IP: s.Source, Country: s.Country}, s.Source.IsValid()
}

// stormWatchedOnly reports whether all applications that the storm is on only watch.
func stormWatchedOnly(s record.Storm, a *call.Account) bool {
	for app := range s.Apps {
		if !a.Applications[int(app)].CannotBlock {
			return false
		}
	}
	return len(s.Apps) > 0
}

// topSource is the busiest source that the service lists; of a storm the one that is behind most of it.
func topSource(s call.Situation) (apiclient.Source, bool) {
	if s.Storm != nil {
		return stormSource(*s.Storm, s.Attack)
	}
	return call.TopSource(s.Attack)
}

// listedEntry is the entry that holds for a source of the attack on its application, if there is one; where names that, unless the entry holds everywhere.
func listedEntry(s call.Situation, list string, t grammar.Target) (e *apiclient.IPRule, where string) {
	want, here := apiclient.IPRule{Kind: apiclient.KindRange, Subnet: t.Prefix}, []int{apiclient.AllApps}
	if s.Attack.App.Known {
		here = []int{int(s.Attack.App.N)}
	}
	i := slices.IndexFunc(s.Entries, func(e apiclient.IPRule) bool {
		return e.List == list && efficacy.CoversEntry(e, want) && call.HoldsFor(e.Apps, here)
	})
	if i < 0 {
		return nil, ""
	}
	if !call.Everywhere(s.Entries[i].Apps) {
		where = " for " + s.Account.AppName(s.Attack.App)
	}
	return &s.Entries[i], where
}

// WatchedOnly reports whether the nodes of the attack's application only watch, so that nothing stops it there.
func WatchedOnly(s call.Situation) bool {
	if s.Storm != nil {
		return stormWatchedOnly(*s.Storm, s.Account)
	}
	return s.Attack.App.Known && s.Account.Applications[int(s.Attack.App.N)].CannotBlock
}
