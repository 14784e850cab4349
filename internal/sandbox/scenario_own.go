package sandbox

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func ownScenarios() []scenario {
	const group = "Your own and what is allowed"
	return []scenario{
		{"own_cdn", group, "Own CDN", "An attack that comes through your own CDN.",
			"Denying it would block the customers behind it: the card says so, and wafbot refuses.", (*stage).playOwnCDN},
		{"own_cdn_denied", group, "Own CDN denied", "Another author denied your own CDN in the service's console, and customers are blocked.",
			"Within a minute the card says that it is yours, denied, by whom, and until when.", (*stage).playOwnCDNDenied},
		{"allowlisted", group, "Allowlisted source", "An attack from an address that another author put on the allowlist.",
			"The allowlist wins: within a minute the card says that a deny would do nothing.", (*stage).playAllowlisted},
	}
}

func (s *stage) playOwnCDN(account string) ([]waf.Attack, error) {
	return s.start(throughCDN(account, "/comments"))
}

func throughCDN(account, path string) waf.AttackSpec {
	return waf.AttackSpec{
		Account: account, Type: "xss", Method: "GET", Path: path, Parameter: "GET_text_value",
		Sources: []waf.SourceSpec{{IP: "192.0.2.10", Country: "DE", PerSecond: 3}},
		Started: waf.Duration(2 * time.Minute),
	}
}

// playOwnCDNDenied starts the attack first: what is denied leaves no record of an attack.
func (s *stage) playOwnCDNDenied(account string) ([]waf.Attack, error) {
	attacks, err := s.start(throughCDN(account, "/reviews"))
	if err != nil {
		return nil, err
	}
	return attacks, s.list(account, waf.IPRule{
		List: "black", Subnet: ownCDN, Author: "kim.park@acme.example", EventType: "manual", Reason: "Kim Park: attacks from here all morning",
		ExpiredAt: time.Now().Add(8 * time.Hour).Unix(),
	})
}

func (s *stage) playAllowlisted(account string) ([]waf.Attack, error) {
	const tester = "203.0.113.66"
	err := s.list(account, waf.IPRule{
		List: "white", Subnet: tester + "/32", Author: "kim.park@acme.example", EventType: "manual", Reason: "Kim Park: pen test until Friday",
		ExpiredAt: time.Now().Add(72 * time.Hour).Unix(),
	})
	if err != nil {
		return nil, err
	}
	return s.start(waf.AttackSpec{
		Account: account, Type: "ptrav", Method: "GET", Path: "/download", Parameter: "GET_name_value",
		Sources: []waf.SourceSpec{{IP: tester, Country: "SE", PerSecond: 3}},
		Started: waf.Duration(2 * time.Minute),
	})
}

// list puts an entry of another author on a list unless it is there already.
func (s *stage) list(account string, entry waf.IPRule) error {
	state, err := s.waf.State(account)
	if err != nil {
		return err
	}
	stands := func(e waf.IPRuleState) bool { return e.Listed && e.List == entry.List && e.Subnet == entry.Subnet }
	if slices.ContainsFunc(state.IPRules, stands) {
		return nil
	}
	_, err = s.waf.SeedIPRule(account, entry)
	return err
}
