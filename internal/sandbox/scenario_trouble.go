package sandbox

import (
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func troubleScenarios() []scenario {
	const group = "Trouble"
	return []scenario{
		{"permission_lost", group, "Permission lost", "The service refuses all changes with 403 while an injection runs.",
			"Press Deny on the card: it was not made, and wafbot says who can mend that and what to enter by hand.", (*World).playPermissionLost},
		{"permission_back", group, "Permission back", "The service takes changes again.",
			"Press Try now on the WAF permission lost card: it is done, and the card says that it is over.", (*World).playPermissionBack},
		{"service_away", group, "Service away", "The service answers nobody for ten minutes, divided by the world's speed; an injection begins meanwhile.",
			"wafbot says that it is blind, and afterwards since when, and what it missed.", (*World).playServiceAway},
	}
}

// awayFor is how long the service answers nobody.
const awayFor = 10 * time.Minute

func (w *World) playPermissionLost(account string) ([]waf.Attack, error) {
	for _, fault := range changesRefused(account) {
		w.WAF.ClearFault(fault) // it may be lost already
		if err := w.WAF.SetFault(fault); err != nil {
			return nil, err
		}
	}
	return w.playInjection(account)
}

func (w *World) playPermissionBack(account string) ([]waf.Attack, error) {
	for _, fault := range changesRefused(account) {
		w.WAF.ClearFault(fault)
	}
	return nil, nil
}

// changesRefused are the faults of a token that may look and no more.
func changesRefused(account string) []waf.Fault {
	var faults []waf.Fault
	for _, endpoint := range []string{"POST /v4/ip_rules", "DELETE /v4/ip_rules", "POST /v1/objects/hint/create", "POST /v1/objects/hint/delete"} {
		faults = append(faults, waf.Fault{Account: account, Endpoint: endpoint, Kind: "status:403"})
	}
	return faults
}

func (w *World) playServiceAway(account string) ([]waf.Attack, error) {
	away := waf.Fault{Account: account, Kind: "html"}
	if err := w.WAF.SetFault(away); err != nil {
		return nil, err
	}
	err := w.later(awayFor, func() error {
		w.WAF.ClearFault(away)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w.playInjection(account)
}
