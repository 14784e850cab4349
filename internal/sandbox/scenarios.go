package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// scenario is a sequence of attacks and changes that runs by itself once started.
type scenario struct {
	Name  string `json:"name"`
	Group string `json:"group"` // scenarios of a group stand together in the list
	Title string `json:"title"`
	Does  string `json:"does"`
	Look  string `json:"look"` // what to look at
	play  func(s *stage, account string) ([]waf.Attack, error)
}

// stage plays scenarios on the emulated service.
type stage struct {
	waf      *waf.Service
	accounts []Account
	speed    float64
	steps    chan step // for direct

	mu         sync.Mutex
	injections int // started so far
}

func scenarios() []scenario {
	return slices.Concat(attackScenarios(), ownScenarios(), stormScenarios(), troubleScenarios())
}

// step is a later step of a scenario.
type step struct {
	after time.Duration
	do    func()
}

// Play starts a scenario by its name against an account and returns the attacks it began with.
// The account "" is the first one.
func (s *stage) Play(name, account string) ([]waf.Attack, error) {
	stories := scenarios()
	i := slices.IndexFunc(stories, func(one scenario) bool { return one.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("play scenario %q: no such scenario", name)
	}
	account = cmp.Or(account, s.accounts[0].Name)
	if !s.hasAccount(account) {
		return nil, fmt.Errorf("play scenario %q: no such account %q", name, account)
	}
	attacks, err := stories[i].play(s, account)
	if err != nil {
		return nil, fmt.Errorf("play scenario %q: %w", name, err)
	}
	return attacks, nil
}

func (s *stage) hasAccount(name string) bool {
	return slices.ContainsFunc(s.accounts, func(a Account) bool { return a.Name == name })
}

// open starts the scenario that a visitor finds: an attack blocked long ago,
// an incident within seconds, and later a second attack elsewhere.
func (s *stage) open() error {
	blocked := waf.AttackSpec{
		App: -1, Type: "scanner", Method: "GET", Path: "[multiple]", Parameter: "HEADER_USER-AGENT_value",
		Sources: []waf.SourceSpec{{IP: "198.51.100.90", Country: "US", PerSecond: 1}},
		Started: waf.Duration(50 * time.Minute), Lasts: waf.Duration(6 * time.Minute),
	}
	if _, err := s.start(blocked); err != nil {
		return fmt.Errorf("open the scenario: %w", err)
	}
	incident := s.injection(s.accounts[0].Name)
	incident.Vulnerability = &waf.VulnSpec{ID: 812, Title: "SQL injection in login", Threat: 90}
	second := s.injection(s.accounts[0].Name)
	second.App = 7
	for _, attack := range []struct {
		after time.Duration
		spec  waf.AttackSpec
	}{{2 * time.Second, incident}, {3 * time.Minute, second}} {
		if err := s.later(attack.after, func() error {
			_, err := s.start(attack.spec)
			return err
		}); err != nil {
			return fmt.Errorf("open the scenario: %w", err)
		}
	}
	return nil
}

func (s *stage) start(spec waf.AttackSpec) ([]waf.Attack, error) {
	attack, err := s.waf.StartAttack(spec)
	if err != nil {
		return nil, err
	}
	return []waf.Attack{attack}, nil
}

// later runs a step of a scenario after that time, sooner at a higher speed.
func (s *stage) later(after time.Duration, do func() error) error {
	next := step{time.Duration(float64(after) / max(s.speed, 1)), func() {
		if err := do(); err != nil {
			slog.Error("a step of the emulated world's scenario failed", "error", err)
		}
	}}
	select {
	case s.steps <- next:
		return nil
	default:
		return fmt.Errorf("too many scenarios wait for their next step")
	}
}

// playTraffic ends only with ctx.
func (s *stage) playTraffic(ctx context.Context) {
	_ = s.waf.Run(ctx)
}

// direct runs the later steps of scenarios in time and drops those that are not due when ctx ends.
func (s *stage) direct(ctx context.Context) {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-s.steps:
			waiting.Go(func() {
				due := time.NewTimer(next.after)
				defer due.Stop()
				select {
				case <-ctx.Done():
				case <-due.C:
					next.do()
				}
			})
		}
	}
}
