package waf

import (
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// forever is the largest expired_at.
const forever = 33223139044

// IPRule is an entry of the IP lists.
type IPRule struct {
	ID       int64  `json:"id"`
	ClientID int    `json:"clientid"`
	RuleType string `json:"rule_type"`
	List     string `json:"list"`
	// Author and EventType are the origin of the entry: client and manual for one made through the API.
	Author    string `json:"author"`
	EventType string `json:"event_type"`
	// Subnet is a prefix, as 203.0.113.7/32; "" for rule types other than ip_range.
	Subnet       string   `json:"subnet"`
	SourceValues []string `json:"source_values"`
	// Pools are application ids; 0 stands for all.
	Pools  []int  `json:"pools"`
	Reason string `json:"reason"`
	// CreatedAt and ExpiredAt are Unix times in seconds.
	CreatedAt int64 `json:"created_at"`
	ExpiredAt int64 `json:"expired_at"`
}

// entry is an entry of the IP lists with the time at which the nodes act on it.
type entry struct {
	IPRule
	subnet netip.Prefix
	term
}

// listedAt reports whether the entry is in the lists. An expired one is not.
func (e *entry) listedAt(now time.Time) bool {
	return e.listed() && now.Unix() < e.ExpiredAt
}

// expire gives an expired entry the end of its effect, which comes as late as after a removal.
func (e *entry) expire(now time.Time, delay time.Duration) {
	if e.listed() && !e.listedAt(now) {
		e.removed = time.Unix(e.ExpiredAt, 0)
		e.until = e.removed.Add(delay)
	}
}

// view is an entry as the API shows it. Entries of other authors carry expired_at as a string, as some do with the real service.
func (e *entry) view() map[string]any {
	shown := map[string]any{
		"id": e.ID, "clientid": e.ClientID, "rule_type": e.RuleType, "list": e.List, "author": e.Author,
		"event_type": e.EventType, "subnet": nil, "source_values": e.SourceValues, "pools": e.Pools,
		"reason": e.Reason, "created_at": e.CreatedAt, "expired_at": e.ExpiredAt,
	}
	if e.RuleType == "ip_range" {
		shown["subnet"] = e.Subnet
	}
	if e.Author != "client" {
		shown["expired_at"] = strconv.FormatInt(e.ExpiredAt, 10)
	}
	return shown
}

// matches reports whether the entry names the source, in whatever application.
func (e *entry) matches(s *source) bool {
	switch e.RuleType {
	case "ip_range":
		return e.subnet.Contains(s.address)
	case "country":
		return slices.Contains(e.SourceValues, s.Country)
	case "proxy_type":
		return slices.Contains(e.SourceValues, s.Proxy)
	}
	return slices.Contains(e.SourceValues, s.Datacenter)
}

func (e *entry) inPool(app int) bool {
	return slices.Contains(e.Pools, 0) || slices.Contains(e.Pools, app)
}

// collides reports whether a new entry equals e.
func (e *entry) collides(created *entry) bool {
	if e.List != created.List || e.RuleType != created.RuleType || !slices.Equal(e.Pools, created.Pools) {
		return false
	}
	if e.RuleType == "ip_range" {
		return e.subnet == created.subnet
	}
	return slices.ContainsFunc(created.SourceValues, func(value string) bool { return slices.Contains(e.SourceValues, value) })
}

// Denied reports whether a denylist entry covers the address now, in whatever application and whether or not the nodes act on it
// yet. The allowlist wins. An address that takes part in an attack is also known by its country, proxy type and datacenter.
func (s *core) Denied(account, ip string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.account(account)
	if err != nil {
		return false
	}
	found := a.source(ip)
	if found == nil {
		return false
	}
	now, denied := s.now(), false
	for _, e := range a.entries {
		if e.listedAt(now) && e.matches(found) {
			if e.List == "white" {
				return false
			}
			denied = denied || e.List == "black"
		}
	}
	return denied
}

// source returns what is known of an address; nil when it is none.
func (a *account) source(ip string) *source {
	for _, c := range a.campaigns {
		for _, s := range c.sources {
			if s.IP == ip {
				return s
			}
		}
	}
	address, err := netip.ParseAddr(ip)
	if err != nil {
		return nil
	}
	return &source{SourceSpec: SourceSpec{IP: ip}, address: address.Unmap()}
}
