package waf

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Duration is a time.Duration that is a Go duration string ("90s") in JSON.
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("parse duration: %w", err)
	}
	*d = Duration(parsed)
	return nil
}

// AttackSpec describes an attack to play. Every field may be left out.
type AttackSpec struct {
	// Account is the name of the attacked account; "" means the first.
	Account string `json:"account,omitempty"`
	// App is the id of the attacked application, -1 the default one; 0 means the account's first.
	App int `json:"app,omitempty"`
	// Host "" means the application's.
	Host string `json:"host,omitempty"`
	// Method and Path "" mean POST /login. Path may be "[multiple]".
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// Parameter is the attacked part as the service writes it; "" means POST_FORM_URLENCODED_login_value.
	Parameter string `json:"parameter,omitempty"`
	// Type is the attack's type; "" means sqli.
	Type string `json:"type,omitempty"`
	// Sources send the hits; none means one address with 2 hits a second.
	Sources []SourceSpec `json:"sources,omitempty"`
	// OtherSources is the number of further sources, which together send a tenth of the hits of Sources and never show in ip_top.
	OtherSources int `json:"other_sources,omitempty"`
	// Vulnerability makes the attack an incident from the start; nil means that it is none.
	Vulnerability *VulnSpec `json:"vulnerability,omitempty"`
	// Started is how long ago the attack began.
	Started Duration `json:"started,omitempty"`
	// Hits is the number of hits so far; 0 means what the sources sent since Started.
	Hits int64 `json:"hits,omitempty"`
	// Lasts is how long after its beginning the attack ends by itself; 0 means not before it is stopped.
	Lasts Duration `json:"lasts,omitempty"`
}

// SourceSpec describes one source of an attack.
type SourceSpec struct {
	IP string `json:"ip"`
	// Country is an ISO 3166 alpha-2 code; "" means unknown.
	Country string `json:"country,omitempty"`
	// PerSecond is the number of hits a second.
	PerSecond float64 `json:"per_second"`
	// Proxy is the source's proxy type (TOR, VPN, …); "" means none.
	Proxy string `json:"proxy,omitempty"`
	// Datacenter is the cloud that the source is in (aws, …); "" means none.
	Datacenter string `json:"datacenter,omitempty"`
	// Headers are the headers of the source's requests besides Host.
	Headers map[string]string `json:"headers,omitempty"`
}

// VulnSpec describes the security issue that an incident exploits.
type VulnSpec struct {
	// ID 0 means a new one.
	ID int `json:"id,omitempty"`
	// Title "" means one made from the attack's type.
	Title string `json:"title,omitempty"`
	// Threat is 1 to 100; 0 means that of the attack's type.
	Threat int `json:"threat,omitempty"`
}

const (
	mostOtherSources = 1000
	fastestSource    = 10_000
	longestAgo       = 30 * 24 * time.Hour
)

// check refuses a spec that can't be played.
func (spec *AttackSpec) check(a *account) error {
	if _, known := a.application(spec.App); !known {
		return fmt.Errorf("account %q has no application %d", a.Name, spec.App)
	}
	switch {
	case spec.Host == "":
		return fmt.Errorf("host is missing, and application %d has none", spec.App)
	case spec.Path != manyPaths && !strings.HasPrefix(spec.Path, "/"):
		return fmt.Errorf("path %q does not begin with /", spec.Path)
	case spec.Type == blockedSource:
		return fmt.Errorf("type %s is a result of denying, no attack", blockedSource)
	case spec.OtherSources < 0 || spec.OtherSources > mostOtherSources:
		return fmt.Errorf("other_sources is %d, not 0 to %d", spec.OtherSources, mostOtherSources)
	case spec.Started < 0 || time.Duration(spec.Started) > longestAgo:
		return fmt.Errorf("started is %v, not 0 to %v", time.Duration(spec.Started), longestAgo)
	case spec.Hits < 0:
		return fmt.Errorf("hits is %d, below 0", spec.Hits)
	case spec.Lasts < 0:
		return fmt.Errorf("lasts is %v, below 0", time.Duration(spec.Lasts))
	case spec.Vulnerability != nil && (spec.Vulnerability.ID < 0 || spec.Vulnerability.Threat < 0 || spec.Vulnerability.Threat > 100):
		return errors.New("vulnerability has a negative id or a threat outside 0 to 100")
	}
	seen := map[netip.Addr]bool{}
	for i := range spec.Sources {
		address, err := spec.Sources[i].check()
		if err != nil {
			return fmt.Errorf("source %d: %w", i+1, err)
		}
		if seen[address] {
			return fmt.Errorf("source %d: %s comes twice", i+1, address)
		}
		seen[address] = true
	}
	return nil
}

func (s *SourceSpec) check() (netip.Addr, error) {
	address, err := netip.ParseAddr(s.IP)
	switch {
	case err != nil:
		return address, fmt.Errorf("ip: %w", err)
	case !(s.PerSecond >= 0 && s.PerSecond <= fastestSource):
		return address, fmt.Errorf("per_second is %v, not 0 to %d", s.PerSecond, fastestSource)
	case s.Country != "" && !slices.Contains(countries(), s.Country):
		return address, fmt.Errorf("country %q is no ISO 3166 code", s.Country)
	case s.Proxy != "" && !slices.Contains(proxyTypes(), s.Proxy):
		return address, fmt.Errorf("unknown proxy %q", s.Proxy)
	case s.Datacenter != "" && !slices.Contains(datacenters(), s.Datacenter):
		return address, fmt.Errorf("unknown datacenter %q", s.Datacenter)
	}
	return address.Unmap(), nil
}
