package efficacy

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Overlay lays what wafbot changed since over lists and rules that were read at some time, so that a card drawn right after a click shows
// what the click did. The changes are the account's, the newest first. What was changed while they were read may be in them or not:
// laying it over twice does no harm.
func Overlay(entries []apiclient.IPRule, rules []apiclient.Rule, changes []record.Change, read time.Time) ([]apiclient.IPRule, []apiclient.Rule) {
	entries, rules = slices.Clone(entries), slices.Clone(rules)
	for _, ch := range slices.Backward(changes) {
		if ch.At.Before(read.Add(-ListedWithin)) {
			continue
		}
		for _, s := range ch.Steps {
			if s.Done {
				entries, rules = s.Overlay(entries, rules)
			}
		}
	}
	return entries, rules
}
