package sandbox

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// scenario is a story that plays by itself once started.
type scenario struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Does  string `json:"does"`
	play  func(w *World, account string) ([]waf.Attack, error)
}

func scenarios() []scenario {
	return []scenario{
		{"injection", "Injection", "An injection from one strong source and 13 weak ones; nothing blocks it.", (*World).playInjection},
		{"slow_incident", "Slow incident", "An injection that becomes an incident half a minute later: the service finds that it works.", (*World).playSlowIncident},
		{"credential_stuffing", "Credential stuffing", "Stolen passwords tried from 4,012 sources, the top one 3 %: no button stops it.", (*World).playCredentialStuffing},
		{"scan", "Scan", "A scanner that walks over everything from one cloud address.", (*World).playScan},
		{"own_cdn", "Own CDN", "An attack that comes through your own CDN: its address must never be denied.", (*World).playOwnCDN},
		{"storm", "Storm", "100 attacks at once, 96 of them from one source.", (*World).playStorm},
	}
}

// Play starts a scenario by its name against an account and returns the attacks it began with.
// The account "" is the first one.
func (w *World) Play(name, account string) ([]waf.Attack, error) {
	stories := scenarios()
	i := slices.IndexFunc(stories, func(s scenario) bool { return s.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("play scenario %q: no such scenario", name)
	}
	account = cmp.Or(account, w.accounts[0].Name)
	if !w.hasAccount(account) {
		return nil, fmt.Errorf("play scenario %q: no such account %q", name, account)
	}
	attacks, err := stories[i].play(w, account)
	if err != nil {
		return nil, fmt.Errorf("play scenario %q: %w", name, err)
	}
	return attacks, nil
}

func (w *World) hasAccount(name string) bool {
	return slices.ContainsFunc(w.accounts, func(a Account) bool { return a.Name == name })
}

// target is where an injection goes and what it looks like.
type target struct{ kind, method, path, parameter string }

// injection makes each next injection another one, or they would be one attack with twice the hits.
func (w *World) injection(account string) waf.AttackSpec {
	targets := []target{
		{"sqli", "POST", "/login", "POST_FORM_URLENCODED_login_value"},
		{"xss", "GET", "/search", "GET_q_value"},
		{"ptrav", "GET", "/api/export", "GET_file_value"},
		{"rce", "POST", "/api/render", "POST_JSON_DOC_HASH_template_value"},
		{"ssrf", "POST", "/api/import", "POST_JSON_DOC_HASH_url_value"},
	}
	w.mu.Lock()
	n := w.injections
	w.injections++
	w.mu.Unlock()
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

func (w *World) playInjection(account string) ([]waf.Attack, error) {
	return w.start(w.injection(account))
}

// playSlowIncident picks an application in monitoring mode: the service registers incidents nowhere else.
func (w *World) playSlowIncident(account string) ([]waf.Attack, error) {
	state, err := w.WAF.State(account)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(state.Applications, func(a waf.ApplicationState) bool { return a.Mode == "monitoring" })
	if i < 0 {
		return nil, fmt.Errorf("no application of %s is in monitoring mode, and incidents are registered in no other", account)
	}
	spec := w.injection(account)
	spec.App = state.Applications[i].ID
	attacks, err := w.start(spec)
	if err != nil {
		return nil, err
	}
	id := attacks[0].ID
	return attacks, w.later(30*time.Second, func() error { return w.WAF.MakeIncident(id, waf.VulnSpec{}) })
}

func (w *World) playCredentialStuffing(account string) ([]waf.Attack, error) {
	return w.start(waf.AttackSpec{
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

func (w *World) playScan(account string) ([]waf.Attack, error) {
	return w.start(waf.AttackSpec{
		Account: account, Type: "scanner", Method: "GET", Path: "[multiple]", Parameter: "HEADER_USER-AGENT_value",
		Sources: []waf.SourceSpec{{
			IP: "198.51.100.77", Country: "US", PerSecond: 6, Datacenter: "aws",
			Headers: map[string]string{"User-Agent": "nikto/2.5"},
		}},
		Started: waf.Duration(time.Minute),
	})
}

func (w *World) playOwnCDN(account string) ([]waf.Attack, error) {
	return w.start(waf.AttackSpec{
		Account: account, Type: "xss", Method: "GET", Path: "/comments", Parameter: "GET_text_value",
		Sources: []waf.SourceSpec{{IP: "192.0.2.10", Country: "DE", PerSecond: 3}},
		Started: waf.Duration(2 * time.Minute),
	})
}

// playStorm starts many attacks of one source and a few odd ones that must not drown among them.
func (w *World) playStorm(account string) ([]waf.Attack, error) {
	kinds := []string{"sqli", "xss", "rce", "ptrav"}
	var attacks []waf.Attack
	for i := range 100 {
		source := waf.SourceSpec{IP: "198.51.100.23", Country: "NL", PerSecond: 0.2}
		if i%25 == 24 {
			source = waf.SourceSpec{IP: "203.0.113." + strconv.Itoa(200+i/25), Country: "PL", PerSecond: 1}
		}
		started, err := w.start(waf.AttackSpec{
			Account: account, Type: kinds[i%len(kinds)], Method: "GET",
			Path: "/catalog/item" + strconv.Itoa(i), Parameter: "GET_id_value",
			Sources: []waf.SourceSpec{source}, Hits: int64(30 + i), Started: waf.Duration(time.Minute),
			Lasts: waf.Duration(20 * time.Minute),
		})
		if err != nil {
			return nil, err
		}
		attacks = append(attacks, started...)
	}
	return attacks, nil
}

// open begins the scenario that a visitor finds: something blocked long ago,
// an incident within seconds, and later a second attack elsewhere.
func (w *World) open() error {
	blocked := waf.AttackSpec{
		App: -1, Type: "scanner", Method: "GET", Path: "[multiple]", Parameter: "HEADER_USER-AGENT_value",
		Sources: []waf.SourceSpec{{IP: "198.51.100.90", Country: "US", PerSecond: 1}},
		Started: waf.Duration(50 * time.Minute), Lasts: waf.Duration(6 * time.Minute),
	}
	if _, err := w.start(blocked); err != nil {
		return fmt.Errorf("open the scene: %w", err)
	}
	incident := w.injection(w.accounts[0].Name)
	incident.Vulnerability = &waf.VulnSpec{ID: 812, Title: "SQL injection in login", Threat: 90}
	second := w.injection(w.accounts[0].Name)
	second.App = 7
	for _, scene := range []struct {
		after time.Duration
		spec  waf.AttackSpec
	}{{2 * time.Second, incident}, {3 * time.Minute, second}} {
		if err := w.later(scene.after, func() error {
			_, err := w.start(scene.spec)
			return err
		}); err != nil {
			return fmt.Errorf("open the scene: %w", err)
		}
	}
	return nil
}

func (w *World) start(spec waf.AttackSpec) ([]waf.Attack, error) {
	attack, err := w.WAF.StartAttack(spec)
	if err != nil {
		return nil, err
	}
	return []waf.Attack{attack}, nil
}

// later has a step of a scenario done when Run's time has come to it, sooner at a higher speed.
func (w *World) later(after time.Duration, do func() error) error {
	s := step{time.Duration(float64(after) / max(w.cfg.Speed, 1)), func() {
		if err := do(); err != nil {
			slog.Error("a step of the emulated world's scenario went wrong", "error", err)
		}
	}}
	select {
	case w.steps <- s:
		return nil
	default:
		return fmt.Errorf("too many scenarios wait for their next step")
	}
}
