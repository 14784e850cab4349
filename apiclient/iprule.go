package apiclient

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// The IP lists. The allowlist wins over the denylist, the denylist over the graylist.
const (
	ListDeny  = "black"
	ListAllow = "white"
	ListGray  = "gray"
)

// The kinds of IP-list entries.
const (
	KindRange      = "ip_range"
	KindCountry    = "country"
	KindProxy      = "proxy_type"
	KindDatacenter = "datacenter"
)

// AllApps is what IPRule.Apps holds for all applications.
const AllApps = 0

// Forever is the latest expiry the service accepts.
var Forever = time.Unix(33223139044, 0).UTC()

// ShortestEntry is how long an entry of the service's own console lives at least. Whether a shorter one ends in time
// isn't documented.
const ShortestEntry = 5 * time.Minute

// IPRule is an entry of an IP list.
type IPRule struct {
	ID        int64        `json:"id,omitempty" api:"id"` // given by the service
	List      string       `json:"list" api:"list"`
	Kind      string       `json:"kind" api:"rule_type"`
	Subnet    netip.Prefix `json:"subnet,omitzero" api:"subnet"`         // of KindRange: an address is its /32 or /128
	Values    []string     `json:"values,omitempty" api:"source_values"` // of the other kinds: FR, TOR, aws
	Apps      []int        `json:"apps" api:"pools"`                     // [AllApps] for all applications
	Reason    string       `json:"reason,omitempty" api:"reason"`
	Author    string       `json:"author,omitempty" api:"author"`         // given by the service
	EventType string       `json:"event_type,omitempty" api:"event_type"` // given by the service
	Created   time.Time    `json:"created,omitzero" api:"created_at"`     // given by the service
	Expires   time.Time    `json:"expires,omitzero" api:"expired_at"`     // zero: unknown
}

// Lasts reports whether the entry holds at a time still. One whose end the service does not tell counts.
func (r IPRule) Lasts(at time.Time) bool { return r.Expires.IsZero() || r.Expires.After(at) }

// maxIPRules is the most that the service gives at once.
const maxIPRules = 300

// IPRules lists entries of the IP lists one by one, or of one list: GET /v4/ip_rules. It may be repeated; an error ends
// the list.
// An entry removed by others while it reads can push another one off the page.
func (c *Client) IPRules(ctx context.Context, list string) iter.Seq2[IPRule, error] {
	return each[IPRule](c, c.pages(ctx, maxIPRules, func(clientID, offset, limit int) call {
		query := url.Values{"offset": {strconv.Itoa(offset)}, "limit": {strconv.Itoa(limit)},
			"filter[clientid]": {strconv.Itoa(clientID)}}
		if list != "" {
			query.Set("filter[list]", list)
		}
		return call{op: "read IP lists", method: http.MethodGet, path: "/v4/ip_rules?" + query.Encode()}
	}))
}

// AddIPRule adds an entry: POST /v4/ip_rules. It may be repeated, as long as Expires and Reason stay the same; after an
// unknown outcome it is left to the caller, who looks first what is there. No Apps means all applications; an Expires
// after Forever becomes Forever; force overwrites an existing entry of any author. An incomplete entry is refused
// before sending, as Invalid. What the service does not repeat in its answer is as sent; ID is 0 when it is missing.
func (c *Client) AddIPRule(ctx context.Context, r IPRule, force bool) (IPRule, error) {
	k := call{op: "add to IP list", method: http.MethodPost, path: "/v4/ip_rules", effect: once}
	r.Subnet = plainPrefix(r.Subnet)
	if wrong := checkIPRule(r); len(wrong) > 0 {
		return IPRule{}, invalid(k.op, wrong)
	}
	if len(r.Apps) == 0 {
		r.Apps = []int{AllApps}
	}
	if r.Expires.After(Forever) {
		r.Expires = Forever
	}
	sent := map[string]any{"list": r.List, "rule_type": r.Kind, "pools": r.Apps, "expired_at": r.Expires.Unix()}
	if r.Kind == KindRange {
		sent["subnet"] = r.Subnet.String()
	} else {
		sent["source_values"] = r.Values
	}
	if r.Reason != "" {
		sent["reason"] = r.Reason
	}
	got := r
	got.ID, got.Expires = 0, r.Expires.UTC().Truncate(time.Second)
	_, err := c.change(ctx, k, func(clientID int) any {
		return map[string]any{"clientid": clientID, "force": force, "ip_rule": sent}
	}, &got)
	if err != nil {
		return IPRule{}, err
	}
	return got, nil
}

// DeleteIPRules removes entries by their ids: DELETE /v4/ip_rules. It may be repeated while they are what they were:
// one that is overwritten keeps its id. After an unknown outcome that is left to the caller. The service does not say
// what it removed: list again to know.
func (c *Client) DeleteIPRules(ctx context.Context, ids ...int64) error {
	k := call{op: "delete from IP lists", method: http.MethodDelete, path: "/v4/ip_rules", effect: once}
	if len(ids) == 0 || slices.Min(ids) <= 0 { // without ids the filter would be the whole account
		return invalid(k.op, map[string]string{"id": "must be given"})
	}
	_, err := c.change(ctx, k, func(clientID int) any {
		return map[string]any{"filter": map[string]any{"clientid": clientID, "id": ids}}
	}, new(struct{}))
	return err
}

func checkIPRule(r IPRule) map[string]string {
	wrong := map[string]string{}
	if !slices.Contains([]string{ListDeny, ListAllow, ListGray}, r.List) {
		wrong["list"] = "must be black, white or gray"
	}
	switch r.Kind {
	case KindRange:
		checkRange(r, wrong)
	case KindCountry, KindProxy, KindDatacenter:
		if len(r.Values) == 0 || slices.Contains(r.Values, "") {
			wrong["source_values"] = "must be given"
		}
		if r.Subnet.IsValid() {
			wrong["subnet"] = "must not be given"
		}
	default:
		wrong["rule_type"] = "must be ip_range, country, proxy_type or datacenter"
	}
	if r.Expires.IsZero() {
		wrong["expired_at"] = "must be given"
	}
	return wrong
}

// The bits of the widest ranges that the service takes.
const (
	WidestIPv4 = 12
	WidestIPv6 = 32
)

// checkRange refuses what the service refuses, so that a typing error does not depend on the service.
func checkRange(r IPRule, wrong map[string]string) {
	mapped := netip.MustParsePrefix("::ffff:0:0/96") // IPv6's image of all of IPv4
	switch {
	case !r.Subnet.IsValid():
		wrong["subnet"] = "must be given"
	case r.Subnet.Addr().Is4() && r.Subnet.Bits() < WidestIPv4:
		wrong["subnet"] = fmt.Sprintf("must not be wider than /%d", WidestIPv4)
	case r.Subnet.Addr().Is6() && r.Subnet.Bits() < WidestIPv6, r.Subnet.Overlaps(mapped):
		wrong["subnet"] = fmt.Sprintf("must not be wider than /%d", WidestIPv6)
	}
	if len(r.Values) > 0 {
		wrong["source_values"] = "must not be given"
	}
}

// readPrefix reads a network or a single address; what is neither gives the zero prefix.
func readPrefix(s string) netip.Prefix {
	if p, err := netip.ParsePrefix(s); err == nil {
		return plainPrefix(p)
	}
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}
	}
	return plainPrefix(netip.PrefixFrom(ip.WithZone(""), ip.BitLen()))
}

// plainPrefix drops the host bits and takes v4-mapped networks for the IPv4 networks they are.
func plainPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}
