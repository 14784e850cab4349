package waf

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// State is what the service knows of an account and what its traffic does.
type State struct {
	Account      string             `json:"account"`
	ClientID     int                `json:"client_id"`
	Time         time.Time          `json:"time"`
	Attacks      []Attack           `json:"attacks"`
	IPRules      []IPRuleState      `json:"ip_rules"`
	Rules        []RuleState        `json:"rules"`
	Applications []ApplicationState `json:"applications"`
	// Traffic is the last 180 s, one point a second, oldest first.
	Traffic []TrafficPoint `json:"traffic"`
	// Requests counts the API requests received by "METHOD /path".
	Requests map[string]int `json:"requests"`
}

// Attack is an attack that was started here, with its newest record in the service.
type Attack struct {
	// ID is the attackid of its newest record.
	ID        string `json:"id"`
	Account   string `json:"account"`
	App       int    `json:"app"`
	Host      string `json:"host"`
	Method    string `json:"method"`
	Path      string `json:"path"`
	Parameter string `json:"parameter"`
	Type      string `json:"type"`
	// Hits, FirstTime, LastTime, BlockStatus, Review and VulnID are those of the newest record.
	Hits        int64     `json:"hits"`
	FirstTime   time.Time `json:"first_time"`
	LastTime    time.Time `json:"last_time"`
	BlockStatus string    `json:"block_status"`
	// Review is "falsepositive" when a person said so, else "".
	Review string `json:"review,omitempty"`
	// VulnID is 0 when the record is no incident.
	VulnID  int  `json:"vuln_id,omitempty"`
	Running bool `json:"running"`
	// PerSecond is what all its sources send.
	PerSecond float64       `json:"per_second"`
	Sources   []SourceState `json:"sources"`
	// OtherSources is the sum of the sources that never show in ip_top.
	OtherSources Totals `json:"other_sources"`
}

// Totals counts hits by result.
type Totals struct {
	Through int64 `json:"through"`
	Blocked int64 `json:"blocked"`
}

// SourceState is one source of an attack with the totals of its hits.
type SourceState struct {
	IP        string  `json:"ip"`
	Country   string  `json:"country,omitempty"`
	PerSecond float64 `json:"per_second"`
	Totals
}

// IPRuleState is an entry of the IP lists, and whether the nodes apply it yet.
type IPRuleState struct {
	IPRule
	Force
}

// Force is when the nodes act on an entry or a rule.
type Force struct {
	// Listed is false for what was removed but is still in force.
	Listed  bool `json:"listed"`
	InForce bool `json:"in_force"`
	// InForceAt is when the nodes began to act on it, or will, EndsAt when they end to because it was removed; Unix times, 0 for never.
	InForceAt int64 `json:"in_force_at"`
	EndsAt    int64 `json:"ends_at,omitempty"`
}

// RuleState is a rule in words, and whether the nodes apply it yet.
type RuleState struct {
	ID         int64  `json:"id"`
	ActionID   int64  `json:"action_id"`
	Type       string `json:"type"`
	Mode       string `json:"mode,omitempty"`
	AttackType string `json:"attack_type,omitempty"`
	Words      string `json:"words"`
	System     bool   `json:"system,omitempty"`
	Force
}

// ApplicationState is an application with the mode in force.
type ApplicationState struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	Host string `json:"host"`
	Mode string `json:"mode"`
}

// TrafficPoint is the hits of one second by result.
type TrafficPoint struct {
	// Time is a Unix time in seconds.
	Time int64 `json:"time"`
	Totals
	// Sources is by address; sources without a hit in this second are left out.
	Sources map[string]Totals `json:"sources,omitempty"`
}

// State returns the state of the account with that name; "" is the first.
func (s *core) State(account string) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.account(account)
	if err != nil {
		return State{}, err
	}
	now := s.now()
	state := State{
		Account: a.Name, ClientID: a.ClientID, Time: now,
		Attacks: []Attack{}, IPRules: []IPRuleState{}, Rules: []RuleState{}, Applications: []ApplicationState{},
		Traffic: a.lastTraffic(now), Requests: maps.Clone(a.counts),
	}
	for _, c := range a.campaigns {
		state.Attacks = append(state.Attacks, a.attack(c, now))
	}
	for _, e := range a.entries {
		e.expire(now, s.delay(listDelay))
		shown := e.IPRule
		shown.SourceValues, shown.Pools = slices.Clone(e.SourceValues), slices.Clone(e.Pools)
		if e.listed() || e.inForce(now) {
			state.IPRules = append(state.IPRules, IPRuleState{shown, e.force(now)})
		}
	}
	for _, r := range a.rules {
		if r.listed() || r.inForce(now) {
			state.Rules = append(state.Rules, r.state(now))
		}
	}
	for _, app := range a.Applications {
		mode := a.mode(web{app: app.ID, path: manyPaths, headers: map[string]string{"HOST": app.Host}}, now)
		state.Applications = append(state.Applications, ApplicationState{app.ID, app.Name, app.Host, mode})
	}
	return state, nil
}

func (t term) force(now time.Time) Force {
	f := Force{Listed: t.listed(), InForce: t.inForce(now), InForceAt: t.from.Unix()}
	if !t.listed() {
		f.EndsAt = t.until.Unix()
	}
	return f
}

// attack describes an attack with its newest record.
func (a *account) attack(c *campaign, now time.Time) Attack {
	r := c.record()
	shown := Attack{
		ID: r.attackID(), Account: a.Name, App: r.app, Host: r.host, Method: r.method, Path: r.path,
		Parameter: r.parameter, Type: r.kind, Hits: r.hits(), FirstTime: r.first, LastTime: r.last,
		BlockStatus: r.blockStatus(), Review: r.review, VulnID: r.vulnID, Running: c.running(now), Sources: []SourceState{},
	}
	for _, source := range c.sources {
		shown.PerSecond += source.PerSecond
		if source.other {
			shown.OtherSources.add(source.totals)
			continue
		}
		shown.Sources = append(shown.Sources, SourceState{source.IP, source.Country, source.PerSecond, source.totals})
	}
	return shown
}

// lastTraffic returns a point for each of the last 180 seconds.
func (a *account) lastTraffic(now time.Time) []TrafficPoint {
	last := now.Unix()
	points := make([]TrafficPoint, int64(trafficKept/time.Second))
	for i := range points {
		points[i].Time = last - int64(len(points)-1-i)
	}
	for _, p := range a.traffic {
		if i := p.Time - points[0].Time; i >= 0 && i < int64(len(points)) {
			p.Sources = maps.Clone(p.Sources)
			points[i] = p
		}
	}
	return points
}

func (r *rule) state(now time.Time) RuleState {
	what := r.kind
	switch r.kind {
	case virtualPatch:
		what = fmt.Sprintf("blocks %s in %v of", r.attackType, slices.Concat(r.point...))
	case "regex":
		what = fmt.Sprintf("marks %v matching %q as %s in", slices.Concat(r.point...), r.regex, r.attackType)
	case "service_mode":
		what = "sets mode " + r.mode + " for"
	}
	return RuleState{
		ID: r.id, ActionID: r.actionID, Type: r.kind, Mode: r.mode, AttackType: r.attackType,
		Words: what + " " + words(r.conditions), System: r.system, Force: r.force(now),
	}
}
