package waf

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	longestReason   = 255
	longestListPage = 300
)

func proxyTypes() []string {
	return []string{"VPN", "SES", "PUB", "WEB", "TOR"}
}

func datacenters() []string {
	return []string{
		"rackspace", "tencent", "plusserver", "ovh", "oracle", "linode", "ibm", "huawei", "hetzner", "gce", "azure", "aws", "alibaba",
	}
}

func (s *Service) listIPRules(c call) reply {
	query, err := url.ParseQuery(c.http.URL.RawQuery)
	if err != nil {
		return refusal(http.StatusBadRequest, "Invalid query")
	}
	invalid := map[string]any{}
	number := func(field string, left int) int {
		if !query.Has(field) {
			return left
		}
		value, err := strconv.Atoi(query.Get(field))
		if err != nil || value < 0 || value == 0 && field == "limit" {
			invalid[field] = map[string]string{"error": "is invalid", "value": query.Get(field)}
		}
		return value
	}
	for field := range query {
		if !slices.Contains([]string{"offset", "limit", "filter[clientid]", "filter[list]", "filter[query]"}, field) {
			invalid[field] = map[string]string{"error": "is not allowed", "value": query.Get(field)}
		}
	}
	client, offset, limit := number("filter[clientid]", -1), number("offset", 0), number("limit", 50)
	list := query.Get("filter[list]")
	if query.Has("filter[list]") && !slices.Contains([]string{"black", "white", "gray"}, list) {
		invalid["filter[list]"] = map[string]string{"error": "is not included in the list", "value": list}
	}
	if client < 0 {
		invalid["clientid"] = map[string]any{"error": "can't be blank", "value": nil}
	}
	if len(invalid) > 0 {
		return refusal(http.StatusBadRequest, invalid)
	}
	if client != c.account.ClientID {
		return noPermission()
	}
	found := s.find(s.listed(c.account, c.lag).entries, list, query.Get("filter[query]"))
	return answer(map[string]any{"objects": cut(found, offset, min(limit, longestListPage))})
}

func (s *core) find(entries []*entry, list, query string) []map[string]any {
	now := s.now()
	found := []map[string]any{}
	for _, e := range entries {
		if e.listedAt(now) && (list == "" || e.List == list) && e.mentions(query) {
			found = append(found, e.view())
		}
	}
	return found
}

// mentions reports whether the entry covers the address, or contains the text, that was asked for.
func (e *entry) mentions(query string) bool {
	if address, err := netip.ParseAddr(query); err == nil && e.RuleType == "ip_range" {
		return e.subnet.Contains(address)
	}
	text := strings.ToLower(strings.Join(append([]string{e.Subnet, e.Reason}, e.SourceValues...), "\n"))
	return strings.Contains(text, strings.ToLower(query))
}

func (s *Service) addIPRule(c call) reply {
	c.body.known("clientid", "force", "ip_rule")
	client := required[int](c.body, "clientid")
	force := optional[bool](c.body, "force")
	created := s.parseIPRule(c.account, c.body.object("ip_rule"))
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	if client != c.account.ClientID {
		return noPermission()
	}
	stored := s.store(c.account, created, force)
	if stored == nil {
		return refusal(http.StatusBadRequest, "Already exists")
	}
	return reply{status: http.StatusCreated, inner: http.StatusOK, body: stored.view()}
}

// parseIPRule reads a new entry; what is wrong is noted in p.
func (s *Service) parseIPRule(a *account, p *params) *entry {
	p.known("list", "rule_type", "subnet", "source_values", "pools", "expired_at", "reason")
	e := &entry{IPRule: IPRule{
		Author: "client", EventType: "manual",
		List:         oneOf(p, "list", []string{"black", "white", "gray"}),
		RuleType:     oneOf(p, "rule_type", []string{"ip_range", "country", "proxy_type", "datacenter"}),
		Subnet:       optional[string](p, "subnet"),
		SourceValues: optional[[]string](p, "source_values"),
		Pools:        required[[]int](p, "pools"),
		ExpiredAt:    seconds(p, "expired_at"),
		Reason:       optional[string](p, "reason"),
	}}
	if e.ExpiredAt <= s.now().Unix() || e.ExpiredAt > forever {
		p.refuse("expired_at", "must be in the future and at most 33223139044")
	}
	if len([]rune(e.Reason)) > longestReason {
		p.refuse("reason", "is too long")
	}
	if field, wrong := a.check(e, allowedValues(e.RuleType)); wrong != "" {
		p.refuse(field, wrong)
	}
	return e
}

// allowedValues are the source values that the API takes for a rule type.
func allowedValues(ruleType string) []string {
	switch ruleType {
	case "country":
		return countries()
	case "proxy_type":
		return proxyTypes()
	case "datacenter":
		return datacenters()
	}
	return nil
}

// check names the field of an entry that is wrong, and why; it puts the entry into the form in which it is read.
func (a *account) check(e *entry, values []string) (field, wrong string) {
	if e.RuleType == "ip_range" {
		if len(e.SourceValues) > 0 {
			return "source_values", "must be blank"
		}
		if wrong := e.parseSubnet(); wrong != "" {
			return "subnet", wrong
		}
		e.SourceValues = []string{}
	} else {
		if e.Subnet != "" {
			return "subnet", "must be blank"
		}
		if len(e.SourceValues) == 0 {
			return "source_values", "can't be blank"
		}
		for _, value := range e.SourceValues {
			if !slices.Contains(values, value) {
				return "source_values", "is not included in the list"
			}
		}
		slices.Sort(e.SourceValues)
		e.SourceValues = slices.Compact(e.SourceValues)
	}
	if len(e.Pools) == 0 {
		return "pools", "can't be blank"
	}
	for _, id := range e.Pools {
		if _, known := a.application(id); !known && id != 0 {
			return "pools", "does not exist"
		}
	}
	slices.Sort(e.Pools)
	e.Pools = slices.Compact(e.Pools)
	return "", ""
}

// parseSubnet reads the subnet, which may be a bare address.
func (e *entry) parseSubnet() string {
	if e.Subnet == "" {
		return "can't be blank"
	}
	prefix, err := netip.ParsePrefix(e.Subnet)
	if err != nil {
		address, err := netip.ParseAddr(e.Subnet)
		if err != nil || address.Zone() != "" {
			return "is invalid"
		}
		prefix = netip.PrefixFrom(address, address.BitLen())
	}
	widest := 12
	if prefix.Addr().Is6() {
		widest = 32
	}
	if prefix.Addr().Is4In6() || prefix.Bits() < widest {
		return "is invalid"
	}
	e.subnet = prefix.Masked()
	e.Subnet = e.subnet.String()
	return ""
}

// store adds the entry, or overwrites what it collides with when forced; nil: it exists already.
func (s *core) store(a *account, created *entry, force bool) *entry {
	now := s.now()
	s.beforeWrite(a)
	var same *entry
	for _, e := range a.entries {
		if !e.listedAt(now) || !e.collides(created) {
			continue
		}
		if !force {
			return nil
		}
		if slices.Equal(e.SourceValues, created.SourceValues) {
			same = e
			continue
		}
		e.SourceValues = slices.DeleteFunc(slices.Clone(e.SourceValues), func(value string) bool {
			return slices.Contains(created.SourceValues, value)
		})
		if len(e.SourceValues) == 0 {
			e.removed, e.until = now, now.Add(s.delay(listDelay))
		}
	}
	defer s.notify()
	created.ClientID, created.CreatedAt = a.ClientID, now.Unix()
	if same != nil {
		created.ID, created.term = same.ID, same.term // it stays in force while it is overwritten
		*same = *created
		return same
	}
	a.lastEntry++
	created.ID = a.lastEntry
	created.from = now.Add(s.delay(listDelay))
	a.entries = append(a.entries, created)
	return created
}

func (s *Service) deleteIPRules(c call) reply {
	c.body.known("filter")
	filter := c.body.object("filter")
	filter.known("clientid", "id")
	client := required[int](filter, "clientid")
	ids := optional[[]int64](filter, "id")
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	if client != c.account.ClientID {
		return noPermission()
	}
	now := s.now()
	s.beforeWrite(c.account)
	for _, e := range c.account.entries {
		// Without ids everything goes, as with the real service.
		if e.listedAt(now) && (len(ids) == 0 || slices.Contains(ids, e.ID)) {
			e.removed, e.until = now, now.Add(s.delay(listDelay))
		}
	}
	s.notify()
	return answer(map[string]any{})
}
