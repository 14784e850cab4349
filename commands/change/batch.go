package change

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
)

// inOwnBatch reports whether an entry of wafbot's for several sources holds the one that is wanted.
func inOwnBatch(e, want apiclient.IPRule) bool {
	_, ours := NamedIn(e.Reason)
	return ours && e.List == want.List && e.Kind != apiclient.KindRange && efficacy.SameApps(e, want) && efficacy.Covers(e, want)
}

// batched puts the countries, proxies and data centers that no entry holds yet into one request for each kind. Addresses go one by one.
func batched(steps []record.Step, lists []apiclient.IPRule) (all []record.Step) {
	kinds := map[string]*apiclient.IPRule{}
	for _, s := range steps {
		held := slices.ContainsFunc(lists, func(e apiclient.IPRule) bool { return e.List == s.Entry.List && efficacy.Overlaps(e, *s.Entry) })
		one := kinds[s.Entry.Kind]
		switch {
		case s.Entry.Kind == apiclient.KindRange || held:
		case one != nil:
			one.Values = append(one.Values, s.Entry.Values...)
			continue
		default:
			kinds[s.Entry.Kind] = s.Entry
		}
		all = append(all, s)
	}
	return all
}
