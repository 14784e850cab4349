package call

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
)

// topSource is the busiest source that the service lists.
func TopTarget(k *record.KnownAttack) (grammar.Target, bool) {
	top, ok := TopSource(k.Attack)
	if !ok {
		return grammar.Target{}, false
	}
	t, err := grammar.ParseTarget(top.IP.String())
	return t, err == nil
}

// TopSource is the busiest of the attack's listed sources.
func TopSource(a apiclient.Attack) (apiclient.Source, bool) {
	if len(a.Sources) == 0 {
		return apiclient.Source{}, false
	}
	return slices.MaxFunc(a.Sources, func(x, y apiclient.Source) int { return int(x.Hits.N - y.Hits.N) }), true
}

// AttackRow is an attack with what people said about it.
type AttackRow struct {
	ID      string           `json:"id"`
	Account string           `json:"account"`
	Ongoing bool             `json:"ongoing"`
	Attack  apiclient.Attack `json:"attack"`
	Triage  record.Triage    `json:"case,omitzero"`
	Card    string           `json:"card,omitempty"`  // where its card can be opened; "": not known
	Storm   string           `json:"storm,omitempty"` // that gathered it; "" where that is not asked
	OwnCard bool             `json:"own,omitempty"`   // gathered, and it has a card of its own since
}
