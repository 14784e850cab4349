package apiclient

import (
	"net/netip"
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

// IPRule is an entry of an IP list.
type IPRule struct {
	ID        int64        `json:"id,omitempty"` // given by the service
	List      string       `json:"list"`
	Kind      string       `json:"kind"`
	Subnet    netip.Prefix `json:"subnet,omitzero"`  // of KindRange: an address is its /32 or /128
	Values    []string     `json:"values,omitempty"` // of the other kinds: FR, TOR, aws
	Apps      []int        `json:"apps"`             // [AllApps] for all applications
	Reason    string       `json:"reason,omitempty"`
	Author    string       `json:"author,omitempty"`     // given by the service
	EventType string       `json:"event_type,omitempty"` // given by the service
	Created   time.Time    `json:"created,omitzero"`     // given by the service
	Expires   time.Time    `json:"expires,omitzero"`     // zero: unknown
}
