package sandbox

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func attackScenarios() []scenario {
	const group = "One attack"
	return []scenario{
		{"injection", group, "Injection", "One strong source and 13 weak ones; nothing blocks it.",
			"Deny the strong source on its card: the card shows the result, and the chart turns from red to green.", (*stage).playInjection},
		{"slow_incident", group, "Slow incident", "An injection that the service registers as an incident half a minute later.",
			"The same card changes, and a reply to it mentions who is on call.", (*stage).playSlowIncident},
		{"moving_incident", group, "Incident of another team", "An injection on Legacy that becomes an incident half a minute later; such incidents belong to #legacy.",
			"The incident gets a card in #legacy, and the one in #waf shrinks to a link to it.", (*stage).playMovingIncident},
		{"credential_stuffing", group, "Credential stuffing", "Stolen passwords tried from 4,012 sources, the top one 3 %.",
			"The card says that no button stops it, and what can.", (*stage).playCredentialStuffing},
		{"scan", group, "Scan", "A scanner that requests everything from one cloud address.",
			"One address is all of it: one deny ends it.", (*stage).playScan},
		{"ipv6", group, "IPv6 network", "Most of an injection comes from 8 addresses of one IPv6 network, which change as they like.",
			"The card names the network, a /64, and Deny denies all of it.", (*stage).playIPv6},
	}
}

// target is where an injection goes and what it looks like.
type target struct{ kind, method, path, parameter string }

// injection varies each next injection. Equal ones would be one attack with twice the hits.
func (s *stage) injection(account string) waf.AttackSpec {
	targets := []target{
		{"sqli", "POST", "/login", "POST_FORM_URLENCODED_login_value"},
		{"xss", "GET", "/search", "GET_q_value"},
		{"ptrav", "GET", "/api/export", "GET_file_value"},
		{"rce", "POST", "/api/render", "POST_JSON_DOC_HASH_template_value"},
		{"ssrf", "POST", "/api/import", "POST_JSON_DOC_HASH_url_value"},
	}
	s.mu.Lock()
	n := s.injections
	s.injections++
	s.mu.Unlock()
	t := targets[n%len(targets)]
	return waf.AttackSpec{
		Account: account, Type: t.kind, Method: t.method, Path: t.path, Parameter: t.parameter,
		Sources: []waf.SourceSpec{
			{IP: fmt.Sprintf("203.0.113.%d", 7+n%50), Country: "FR", PerSecond: 4},
			{IP: fmt.Sprintf("198.51.100.%d", 4+n%50), Country: "NL", PerSecond: 0.6},
		},
		OtherSources: 12,
		Started:      waf.Duration(3 * time.Minute),
	}
}

func (s *stage) playInjection(account string) ([]waf.Attack, error) {
	return s.start(s.injection(account))
}

// playSlowIncident attacks the first application in monitoring mode: the service registers incidents nowhere else.
func (s *stage) playSlowIncident(account string) ([]waf.Attack, error) {
	return s.becomesIncident(account, func(watched []int) int { return watched[0] })
}

// playMovingIncident attacks the last one, of Acme's Legacy.
func (s *stage) playMovingIncident(account string) ([]waf.Attack, error) {
	return s.becomesIncident(account, func(watched []int) int { return watched[len(watched)-1] })
}

// becomesIncident starts an injection of an application chosen of those in monitoring mode, and has it work later.
func (s *stage) becomesIncident(account string, choose func(watched []int) int) ([]waf.Attack, error) {
	state, err := s.waf.State(account)
	if err != nil {
		return nil, err
	}
	var watched []int
	for _, app := range state.Applications {
		if app.Mode == "monitoring" {
			watched = append(watched, app.ID)
		}
	}
	if len(watched) == 0 {
		return nil, fmt.Errorf("no application of %s is in monitoring mode, and incidents are registered in no other", account)
	}
	spec := s.injection(account)
	spec.App = choose(watched)
	attacks, err := s.start(spec)
	if err != nil {
		return nil, err
	}
	id := attacks[0].ID
	return attacks, s.later(30*time.Second, func() error { return s.waf.MakeIncident(id, waf.VulnSpec{}) })
}

func (s *stage) playCredentialStuffing(account string) ([]waf.Attack, error) {
	return s.start(waf.AttackSpec{
		Account: account, Type: "brute", Path: "/login", Sources: stuffingSources(),
		Hits: stuffingHits, Started: waf.Duration(5 * time.Minute),
	})
}

// stuffingHits are what the credential stuffing has sent when it is started.
const stuffingHits = 7_500

// stuffingSources are 4,012: thousands of weak ones that have sent one hit each so far, 41 that
// do a good part, and a top one with 3 %. Neighbours among the weak ones differ in rate, one above
// and one below the mean, so that their hits don't come in bursts.
func stuffingSources() []waf.SourceSpec {
	const weak, strong, top, perSecond = 3970, 41, 0.03, 60.0
	countries := []string{"BR", "IN", "VN", "US", "ID", "TR", "FR"}
	var sources []waf.SourceSpec
	add := func(ip string, share float64) {
		sources = append(sources, waf.SourceSpec{
			IP: ip, Country: countries[len(sources)%len(countries)], PerSecond: share * perSecond,
			Headers: map[string]string{"User-Agent": "okhttp/3.12.1-cs"}, // what the requests have in common
		})
	}
	for i := range weak {
		off := 0.45 * float64(i/2) / (weak / 2)
		if i%2 == 1 {
			off = -off
		}
		add(fmt.Sprintf("198.18.%d.%d", i/250, 1+i%250), (1+off)/stuffingHits)
	}
	for i := range strong {
		add(fmt.Sprintf("198.51.100.%d", 101+i), (1-top-float64(weak)/stuffingHits)/strong)
	}
	add("203.0.113.120", top)
	return sources
}

func (s *stage) playIPv6(account string) ([]waf.Attack, error) {
	spec := s.injection(account)
	spec.Sources, spec.OtherSources = spec.Sources[1:], 0
	for i := range 8 {
		spec.Sources = append(spec.Sources, waf.SourceSpec{IP: fmt.Sprintf("2001:db8:5:6::%x", 0x1a2b+997*i), Country: "DE", PerSecond: 1})
	}
	return s.start(spec)
}

func (s *stage) playScan(account string) ([]waf.Attack, error) {
	return s.start(waf.AttackSpec{
		Account: account, Type: "scanner", Method: "GET", Path: "[multiple]", Parameter: "HEADER_USER-AGENT_value",
		Sources: []waf.SourceSpec{{
			IP: "198.51.100.77", Country: "US", PerSecond: 6, Datacenter: "aws",
			Headers: map[string]string{"User-Agent": "nikto/2.5"},
		}},
		Started: waf.Duration(time.Minute),
	})
}
