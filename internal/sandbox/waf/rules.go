package waf

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"
)

// rule is a setting for the requests that its conditions cover.
type rule struct {
	id, actionID int64
	kind         string
	conditions   []condition
	point        [][]any
	validated    bool
	attackType   string
	comment      string
	regex        string
	mode         string
	system       bool
	updatedAt    time.Time
	term
}

// term is when the nodes apply an entry or a rule.
type term struct {
	from    time.Time
	removed time.Time // zero: not removed
	until   time.Time // with removed
}

func (t term) listed() bool { return t.removed.IsZero() }

func (t term) inForce(now time.Time) bool {
	return !now.Before(t.from) && (t.removed.IsZero() || now.Before(t.until))
}

// view is a rule as the API shows it.
func (a *account) view(r *rule) map[string]any {
	shown := map[string]any{
		"id": r.id, "actionid": r.actionID, "clientid": a.ClientID, "type": r.kind,
		"action": r.conditions, "validated": r.validated, "system": r.system,
		"created_at": r.updatedAt.Unix(), "updated_at": r.updatedAt.Unix(),
	}
	if r.point != nil {
		shown["point"] = slices.Concat(r.point...)
	}
	for name, value := range map[string]string{"attack_type": r.attackType, "comment": r.comment, "regex": r.regex, "mode": r.mode} {
		if value != "" {
			shown[name] = value
		}
	}
	return shown
}

func (s *Service) listRules(c call) reply {
	c.body.known("filter", "order_by", "order_desc", "offset", "limit")
	filter := c.body.object("filter")
	filter.known("clientid", "actionid")
	owned := c.account.owns(filter)
	action := optional[int64](filter, "actionid")
	descending := optional[bool](c.body, "order_desc")
	order := orderBy(c.body, map[string]func(*rule) int64{
		"":           func(r *rule) int64 { return r.id },
		"id":         func(r *rule) int64 { return r.id },
		"updated_at": func(r *rule) int64 { return r.updatedAt.Unix() },
	})
	offset, limit := page(c.body, 1000)
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	if !owned {
		return noPermission()
	}
	var found []*rule
	for _, r := range s.listed(c.account, c.lag).rules {
		if !filter.given("actionid") || r.actionID == action {
			found = append(found, r)
		}
	}
	sortBy(found, order, descending)
	views := []map[string]any{}
	for _, r := range cut(found, offset, limit) {
		views = append(views, c.account.view(r))
	}
	return answer(views)
}

// orderBy returns the figure that the request's order_by names.
func orderBy[T any](p *params, figures map[string]func(T) int64) func(T) int64 {
	figure, ok := figures[optional[string](p, "order_by")]
	if !ok {
		p.refuse("order_by", "is not included in the list")
	}
	return figure
}

func sortBy[T any](list []T, figure func(T) int64, descending bool) {
	slices.SortStableFunc(list, func(x, y T) int {
		if descending {
			x, y = y, x
		}
		return cmp.Compare(figure(x), figure(y))
	})
}

func (s *Service) createRule(c call) reply {
	client := required[int](c.body, "clientid")
	created := c.account.parseRule(c.body)
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	if client != c.account.ClientID {
		return noPermission()
	}
	now := s.now()
	s.beforeWrite(c.account)
	created.updatedAt = now
	created.from = now.Add(s.delay(ruleDelay))
	c.account.addRule(created)
	// "Last write wins or silent removal": which of the two nobody can tell before.
	if created.kind == "service_mode" && s.replacesMode(c, created.id) {
		c.account.removeOtherModes(created, s.delay(ruleDelay))
	}
	s.notify()
	return answer(c.account.view(created))
}

// replacesMode reports whether the mode rule with that id is one that removes the others for the same requests.
func (s *core) replacesMode(c call, id int64) bool {
	if c.secondMode != "" {
		return c.secondMode == modeReplaced
	}
	return rand.New(rand.NewPCG(s.seed, uint64(id))).IntN(2) == 0
}

// removeOtherModes removes the mode rules for the same requests as a new one, of which no answer tells.
func (a *account) removeOtherModes(made *rule, takes time.Duration) {
	for _, r := range a.rules {
		if r.kind == made.kind && r.actionID == made.actionID && r.id != made.id && r.listed() {
			r.removed, r.until = made.updatedAt, made.updatedAt.Add(takes)
		}
	}
}

// addRule gives the rule its ids.
func (a *account) addRule(r *rule) {
	a.lastRule++
	r.id = a.lastRule
	if r.conditions == nil {
		r.conditions = []condition{}
	}
	key := conditionKey(r.conditions)
	if a.actions[key] == 0 {
		a.actions[key] = int64(a.ClientID)*1000 + int64(len(a.actions)) + 1
	}
	r.actionID = a.actions[key]
	a.rules = append(a.rules, r)
}

func (s *Service) deleteRules(c call) reply {
	c.body.known("filter")
	filter := c.body.object("filter")
	filter.known("clientid", "id")
	owned := c.account.owns(filter)
	ids := oneOrMore(filter, "id")
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	if !owned {
		return noPermission()
	}
	now := s.now()
	s.beforeWrite(c.account)
	deleted := []map[string]any{}
	for _, r := range c.account.rules {
		// Without ids everything goes, as with the real service.
		if r.listed() && !r.system && (len(ids) == 0 || slices.Contains(ids, r.id)) {
			deleted = append(deleted, c.account.view(r))
			r.removed, r.until = now, now.Add(s.delay(ruleDelay))
		}
	}
	if len(deleted) > 0 {
		s.notify()
	}
	return answer(deleted)
}

// oneOrMore reads an id or an array of ids.
func oneOrMore(p *params, field string) []int64 {
	if !p.given(field) {
		return nil
	}
	var id int64
	if json.Unmarshal(p.values[field], &id) == nil {
		return []int64{id}
	}
	return optional[[]int64](p, field)
}
