package waf

import (
	"fmt"
	"slices"
)

// SeedIPRule puts an entry of another author into the lists, in force at once, and returns its id. Left out: Author
// "automatic", EventType "trigger", List black, RuleType ip_range, Pools all, ExpiredAt forever, CreatedAt now.
func (s *core) SeedIPRule(account string, r IPRule) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.account(account)
	if err != nil {
		return 0, err
	}
	now := s.now()
	e := &entry{IPRule: r}
	e.seedDefaults(now.Unix())
	if !slices.Contains([]string{"black", "white", "gray", "api_abuse_exceptions"}, e.List) {
		return 0, fmt.Errorf("unknown list %q", e.List)
	}
	if e.RuleType != "ip_range" && allowedValues(e.RuleType) == nil {
		return 0, fmt.Errorf("unknown rule type %q", e.RuleType)
	}
	e.SourceValues, e.Pools = slices.Clone(e.SourceValues), slices.Clone(e.Pools)
	values := append(allowedValues(e.RuleType), "DCH", "MIP", "docean") // read, but not taken by the API
	if field, wrong := a.check(e, values); wrong != "" {
		return 0, fmt.Errorf("%s %s", field, wrong)
	}
	e.from = now
	a.lastEntry++
	e.ID, e.ClientID = a.lastEntry, a.ClientID
	a.entries = append(a.entries, e)
	s.notify()
	return e.ID, nil
}

func (e *entry) seedDefaults(now int64) {
	for field, left := range map[*string]string{
		&e.Author: "automatic", &e.EventType: "trigger", &e.List: "black", &e.RuleType: "ip_range",
	} {
		if *field == "" {
			*field = left
		}
	}
	if len(e.Pools) == 0 {
		e.Pools = []int{0}
	}
	if e.ExpiredAt == 0 {
		e.ExpiredAt = forever
	}
	if e.CreatedAt == 0 {
		e.CreatedAt = now
	}
}
