package sandbox

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// scenario is a story that plays by itself once started.
type scenario struct {
	Name  string `json:"name"`
	Group string `json:"group"` // scenarios of a group stand together in the list
	Title string `json:"title"`
	Does  string `json:"does"`
	Look  string `json:"look"` // what there is to see
	play  func(w *World, account string) ([]waf.Attack, error)
}

func scenarios() []scenario {
	return slices.Concat(attackScenarios(), ownScenarios(), stormScenarios(), troubleScenarios())
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
