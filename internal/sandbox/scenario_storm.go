package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func stormScenarios() []scenario {
	const (
		group = "A storm"
		does  = " attacks at once: one source is behind all but four, two thirds of its attacks are blocked, and one of the four becomes an incident."
		look  = "One card for all but the incident, with the four by name. Deny the one source."
	)
	return []scenario{
		{"storm", group, "Storm of 100", "100" + does, look, func(s *stage, account string) ([]waf.Attack, error) { return s.playStorm(account, 100) }},
		{"storm_1000", group, "Storm of 1,000", "1,000" + does, look, func(s *stage, account string) ([]waf.Attack, error) { return s.playStorm(account, 1000) }},
	}
}

const (
	outliers    = 4    // of a storm: other sources that get through
	stormRate   = 40.0 // hits a second of a storm's one source
	beganWithin = 49   // seconds, in which its attacks began before it is started
	breaksIn    = 20 * time.Second
	stormLasts  = 20 * time.Minute
)

// playStorm starts many attacks of one source and a few outliers that must stay visible among them.
func (s *stage) playStorm(account string, size int) ([]waf.Attack, error) {
	watched, blocking, err := s.stormTargets(account)
	if err != nil {
		return nil, err
	}
	kinds := []string{"sqli", "xss", "rce", "ptrav"}
	var attacks []waf.Attack
	var outlier string
	for i := range size {
		spec := waf.AttackSpec{
			Account: account, App: blocking, Type: kinds[i%len(kinds)], Method: "GET",
			Path: "/catalog/item" + strconv.Itoa(i), Parameter: "GET_id_value",
			Sources: []waf.SourceSpec{{IP: "198.51.100.23", Country: "NL", PerSecond: stormRate / float64(size)}},
			Started: waf.Duration(time.Duration(1+i%beganWithin) * time.Second), Lasts: waf.Duration(stormLasts),
		}
		if i%3 == 0 {
			spec.App = watched
		}
		nth, rest := (i+1)/(size/outliers), (i+1)%(size/outliers)
		if rest == 0 {
			spec.App = watched
			spec.Started = waf.Duration(time.Minute)
			spec.Sources = []waf.SourceSpec{{IP: fmt.Sprintf("203.0.113.%d", 199+nth), Country: "PL", PerSecond: 1}}
		}
		started, err := s.start(spec)
		if err != nil {
			return nil, err
		}
		attacks = append(attacks, started...)
		if rest == 0 && outlier == "" {
			outlier = started[0].ID
		}
	}
	if watched == blocking {
		return attacks, nil // incidents are registered in monitoring mode only
	}
	return attacks, s.later(breaksIn, func() error { return s.waf.MakeIncident(outlier, waf.VulnSpec{}) })
}

// stormTargets are an application that lets attacks through and one that blocks them; the same where an account has no such two.
func (s *stage) stormTargets(account string) (watched, blocking int, err error) {
	state, err := s.waf.State(account)
	if err != nil {
		return 0, 0, err
	}
	inMode := func(mode string) int {
		i := slices.IndexFunc(state.Applications, func(a waf.ApplicationState) bool { return a.Mode == mode })
		return state.Applications[max(i, 0)].ID
	}
	return inMode("monitoring"), inMode("block"), nil
}
