package waf

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"
)

// campaign is an attack that is played. The service may make several records of it.
type campaign struct {
	spec    AttackSpec
	point   [][]any
	sources []*source
	started time.Time
	joined  time.Time // what came before was played when it started
	ends    time.Time // zero: not yet known
	records []*record // the newest last; the first waits for its first hit
	patched *record   // what virtual patches stopped; nil: nothing yet
	vulnID  int       // 0: no incident
}

// source is a source of an attack.
type source struct {
	SourceSpec
	address netip.Addr
	other   bool
	request web
	owed    float64 // the fraction of a hit still to be sent
	totals  Totals
}

func (c *campaign) record() *record { return c.records[len(c.records)-1] }

func (c *campaign) running(now time.Time) bool {
	return c.ends.IsZero() || now.Before(c.ends)
}

// StartAttack starts an attack and plays what it did so far. It refuses a spec that names what does not exist.
func (s *traffic) StartAttack(spec AttackSpec) (Attack, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.account(spec.Account)
	if err != nil {
		return Attack{}, fmt.Errorf("start attack: %w", err)
	}
	spec.setDefaults(a)
	if err := spec.check(a); err != nil {
		return Attack{}, fmt.Errorf("start attack: %w", err)
	}
	now := s.now()
	c := &campaign{spec: spec, point: pointOf(spec.Parameter), started: now.Add(-time.Duration(spec.Started)), joined: now}
	if spec.Lasts > 0 {
		c.ends = c.started.Add(time.Duration(spec.Lasts))
	}
	if spec.Vulnerability != nil {
		if mode := a.mode(web{app: spec.App, host: spec.Host, method: spec.Method, path: spec.Path}, now); mode != "monitoring" {
			return Attack{}, fmt.Errorf("start attack: incidents are registered in monitoring mode only, the mode is %s", mode)
		}
		c.vulnID = a.exploit(*spec.Vulnerability, spec, c.started).id
	}
	c.sources = s.makeSources(spec)
	for _, source := range c.sources {
		source.owed = phase(len(a.campaigns))
	}
	c.records = []*record{s.newRecord(a, spec, c.started)}
	a.campaigns = append(a.campaigns, c)
	s.playPast(a, c, now)
	s.notify()
	return a.attack(c, now), nil
}

// phase spreads attacks of one rate over the time between two hits, or a thousand slow ones would hit in the same moment.
func phase(nth int) float64 {
	_, fraction := math.Modf(float64(nth) * math.Phi)
	return fraction
}

func (spec *AttackSpec) setDefaults(a *account) {
	spec.Account = a.Name
	if spec.App == 0 {
		spec.App = defaultApplication
		if len(a.Applications) > 0 {
			spec.App = a.Applications[0].ID
		}
	}
	app, _ := a.application(spec.App)
	for field, left := range map[*string]string{
		&spec.Host: app.Host, &spec.Method: "POST", &spec.Path: "/login",
		&spec.Parameter: "POST_FORM_URLENCODED_login_value", &spec.Type: "sqli",
	} {
		if *field == "" {
			*field = left
		}
	}
	if len(spec.Sources) == 0 {
		spec.Sources = []SourceSpec{{IP: "203.0.113.7", Country: "FR", PerSecond: 2}}
	}
}

// makeSources returns the sources of the spec and the others, which share a tenth of their rate.
func (s *traffic) makeSources(spec AttackSpec) []*source {
	var made []*source
	total := 0.0
	for _, given := range spec.Sources {
		made = append(made, newSource(spec, given))
		total += given.PerSecond
	}
	for range spec.OtherSources {
		networks := []byte{45, 91, 103, 185, 193}
		address := netip.AddrFrom4([4]byte{
			networks[s.random.IntN(len(networks))], byte(s.random.IntN(256)), byte(s.random.IntN(256)), byte(1 + s.random.IntN(254)),
		})
		other := newSource(spec, SourceSpec{
			IP: address.String(), Country: []string{"BR", "DE", "ID", "US", "VN"}[s.random.IntN(5)],
			PerSecond: total / 10 / float64(spec.OtherSources), Headers: spec.Sources[0].Headers,
		})
		other.other = true
		made = append(made, other)
	}
	return made
}

// newSource makes a source; its address has been checked.
func newSource(spec AttackSpec, given SourceSpec) *source {
	headers := map[string]string{}
	for name, value := range given.Headers {
		headers[strings.ToUpper(name)] = value
	}
	headers["HOST"] = spec.Host
	return &source{
		SourceSpec: given,
		address:    netip.MustParseAddr(given.IP).Unmap(),
		request:    web{app: spec.App, method: spec.Method, host: spec.Host, path: spec.Path, headers: headers},
	}
}

// ErrNoAttack is the error of an attack id that no record has.
var ErrNoAttack = errors.New("no attack")

// findAttack returns the attack one of whose records has the id.
func (s *core) findAttack(id string) (*account, *campaign, error) {
	for _, a := range s.accounts {
		for _, c := range a.campaigns {
			for _, r := range c.records {
				if r.attackID() == id {
					return a, c, nil
				}
			}
		}
	}
	return nil, nil, fmt.Errorf("%w %q", ErrNoAttack, id)
}

// GrowAttack multiplies the rates of all sources of an attack.
func (s *traffic) GrowAttack(id string, factor float64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, c, err := s.findAttack(id)
	if err != nil {
		return err
	}
	if !(factor > 0) || math.IsInf(factor, 0) {
		return fmt.Errorf("factor is %v, not above 0", factor)
	}
	for _, source := range c.sources {
		source.PerSecond *= factor
	}
	s.notify()
	return nil
}

// AddHits sends n hits at once, spread over the attack's sources by their rates. Entries and rules apply to them.
func (s *traffic) AddHits(id string, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, c, err := s.findAttack(id)
	if err != nil {
		return err
	}
	if n <= 0 {
		return fmt.Errorf("number of hits is %d, not above 0", n)
	}
	for i, share := range c.shares(n) {
		s.hit(a, c, hits{c.sources[i], share, s.now()})
	}
	s.notify()
	return nil
}

// shares spreads n hits over the sources as their rates are, evenly when none sends anything.
func (c *campaign) shares(n int64) []int64 {
	total := 0.0
	for _, source := range c.sources {
		total += source.PerSecond
	}
	shares := make([]int64, len(c.sources))
	spread, sum := int64(0), 0.0
	for i, source := range c.sources {
		part := 1 / float64(len(c.sources))
		if total > 0 {
			part = source.PerSecond / total
		}
		sum += part
		shares[i] = int64(math.Round(sum*float64(n))) - spread
		spread += shares[i]
	}
	return shares
}

// StopAttack ends an attack now; its records stay.
func (s *traffic) StopAttack(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, c, err := s.findAttack(id)
	if err != nil {
		return err
	}
	if now := s.now(); c.running(now) {
		c.ends = now
		s.notify()
	}
	return nil
}

// StopAttacks ends all attacks of an account now, of every account if it is ""; their records stay. It returns how many ran.
func (s *traffic) StopAttacks(account string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.account(account); err != nil {
		return 0, fmt.Errorf("stop attacks: %w", err)
	}
	stopped, now := 0, s.now()
	for _, a := range s.accounts {
		for _, c := range a.campaigns {
			if (account == "" || a.Name == account) && c.running(now) {
				c.ends = now
				stopped++
			}
		}
	}
	s.notify()
	return stopped, nil
}

// MakeIncident finds that an attack exploits a security issue; that is possible in monitoring mode only.
func (s *traffic) MakeIncident(id string, v VulnSpec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, c, err := s.findAttack(id)
	if err != nil {
		return err
	}
	now := s.now()
	if mode := a.mode(c.sources[0].request, now); mode != "monitoring" {
		return fmt.Errorf("incidents are registered in monitoring mode only, the mode is %s", mode)
	}
	if c.vulnID != 0 {
		return fmt.Errorf("attack %q is an incident already", id)
	}
	c.vulnID = a.exploit(v, c.spec, now).id
	c.record().vulnID = c.vulnID
	s.notify()
	return nil
}

// SetState sets a person's review of an attack's newest record: "falsepositive", or "" for none.
func (s *traffic) SetState(id, state string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, c, err := s.findAttack(id)
	if err != nil {
		return err
	}
	if state != "falsepositive" && state != "" {
		return fmt.Errorf("unknown state %q", state)
	}
	c.record().review = state
	s.notify()
	return nil
}
