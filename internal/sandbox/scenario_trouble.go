package sandbox

import (
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func troubleScenarios() []scenario {
	const group = "Trouble"
	return []scenario{
		{"permission_lost", group, "Permission lost", "The service refuses all changes with 403 while an injection runs.",
			"Press Deny on the card: the change fails, and wafbot says who can fix the permission and what to enter by hand.", (*stage).playPermissionLost},
		{"permission_back", group, "Permission back", "The service takes changes again.",
			"Press Try now on the WAF permission lost card: it is done, and the card says that it is over.", (*stage).playPermissionBack},
		{"service_away", group, "Service away", "The service is unreachable for ten minutes, divided by the world's speed; an injection begins meanwhile.",
			"wafbot says that the WAF API is unreachable, and afterwards since when, and what it missed.", (*stage).playServiceAway},
	}
}

// awayFor is how long the service is unreachable.
const awayFor = 10 * time.Minute

func (s *stage) playPermissionLost(account string) ([]waf.Attack, error) {
	for _, fault := range changesRefused(account) {
		s.waf.ClearFault(fault) // it may be lost already
		if err := s.waf.SetFault(fault); err != nil {
			return nil, err
		}
	}
	return s.playInjection(account)
}

func (s *stage) playPermissionBack(account string) ([]waf.Attack, error) {
	for _, fault := range changesRefused(account) {
		s.waf.ClearFault(fault)
	}
	return nil, nil
}

// changesRefused lists the faults of a token that can only read.
func changesRefused(account string) []waf.Fault {
	var faults []waf.Fault
	for _, endpoint := range []string{"POST /v4/ip_rules", "DELETE /v4/ip_rules", "POST /v1/objects/hint/create", "POST /v1/objects/hint/delete"} {
		faults = append(faults, waf.Fault{Account: account, Endpoint: endpoint, Kind: "status:403"})
	}
	return faults
}

func (s *stage) playServiceAway(account string) ([]waf.Attack, error) {
	away := waf.Fault{Account: account, Kind: "html"}
	if err := s.waf.SetFault(away); err != nil {
		return nil, err
	}
	err := s.later(awayFor, func() error {
		s.waf.ClearFault(away)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.playInjection(account)
}
