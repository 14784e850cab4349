package grammar

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"golang.org/x/text/language"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Never is the duration "forever".
const Never = time.Duration(-1)

// unitWords are units as people write them, and as the grammar does.
var unitWords = []struct{ words, unit string }{
	{" s sec secs second seconds ", "s"}, {" m min mins minute minutes ", "m"}, {" h hr hrs hour hours ", "h"},
	{" d day days ", "d"}, {" w week weeks ", "w"},
}

// readDuration reads a duration with its unit in a letter or a word.
func readDuration(words string) (d time.Duration, ok bool) {
	words = strings.ToLower(words)
	if words == "forever" {
		return Never, true
	}
	unit := strings.TrimLeft(words, "0123456789")
	for _, u := range unitWords {
		if unit != words && unit != "" && strings.Contains(u.words, " "+unit+" ") {
			words = strings.TrimSuffix(words, unit) + u.unit
		}
	}
	read, err := model.ParseDuration(words)
	return time.Duration(read), err == nil && time.Duration(read) >= time.Second // the service counts whole seconds
}

// IsDuration reports whether a word is a duration.
func IsDuration(word string) bool {
	_, ok := readDuration(word)
	return ok
}

// ParseDuration reads 30m, 12h, 7d, 2w, 4hours or forever.
func ParseDuration(words string) (time.Duration, error) {
	d, ok := readDuration(words)
	if !ok {
		return 0, refusal.Invalid("duration", words, "4h")
	}
	return d, nil
}

// DurationText is the canonical form of a duration.
func DurationText(d time.Duration) string {
	if d == Never {
		return "forever"
	}
	return model.Duration(d).String()
}

// Holds reports whether an entry for t is for a source.
func (t Target) Holds(source apiclient.Source) bool {
	if t.Kind == apiclient.KindCountry {
		return strings.EqualFold(t.Value, source.Country)
	}
	return t.Kind == apiclient.KindRange && source.In(t.Prefix)
}

// Target is what a list entry is about.
type Target struct {
	Kind   string       // one of apiclient's kinds of entries
	Prefix netip.Prefix // of a range
	Value  string       // of the others: FR, TOR, aws
}

// The kinds of proxies and the data centers that the service knows.
var (
	Proxies     = []string{"VPN", "SES", "PUB", "WEB", "TOR"}
	Datacenters = []string{"rackspace", "tencent", "plusserver", "ovh", "oracle", "linode", "ibm", "huawei", "hetzner",
		"gce", "azure", "aws", "alibaba"}
	withdrawn = []string{"AN", "CS", "NT", "SU", "YU"} // countries that were divided: no code replaced theirs, so they still seem canonical
)

// IsCountry reports whether ISO 3166-1 lists a country by these two capital letters. Codes that are only reserved (EU,
// UK, AC) or free to use (XK, ZZ) have no M.49 number below 900, or are replaced by another code.
func IsCountry(code string) bool {
	region, err := language.ParseRegion(code)
	if err != nil || region.String() != code || !region.IsCountry() || region.Canonicalize() != region {
		return false
	}
	m49 := region.M49()
	return m49 > 0 && m49 < 900 && !slices.Contains(withdrawn, code)
}

// nameKind is a kind of targets that are written with a word, a colon and a name.
type nameKind struct {
	word, kind string
	fold       func(name string) string // into how the service writes it
	known      func(name string) bool
	should     string // what it should be
	example    string
}

var nameKinds = []nameKind{
	{"country", apiclient.KindCountry, strings.ToUpper, IsCountry, "Its two letters, as ISO 3166 has them", "FR"},
	{"proxy", apiclient.KindProxy, strings.ToUpper, func(name string) bool { return slices.Contains(Proxies, name) },
		"One of " + strings.Join(Proxies, ", "), "TOR"},
	{"datacenter", apiclient.KindDatacenter, strings.ToLower,
		func(name string) bool { return slices.Contains(Datacenters, name) },
		"One of " + strings.Join(Datacenters, ", "), "aws"},
}

// ParseTarget reads an address, a CIDR, country:FR, proxy:TOR or datacenter:aws.
func ParseTarget(word string) (Target, error) {
	before, name, ok := strings.Cut(word, ":")
	for _, k := range nameKinds {
		if !ok || !strings.EqualFold(before, k.word) {
			continue
		}
		if name = k.fold(name); !k.known(name) {
			return Target{}, refusal.Invalid(k.word, word, k.word+":"+k.example, k.should)
		}
		return Target{Kind: k.kind, Value: name}, nil
	}
	return ParseRange(word)
}

// rangeName is what ParseRange reads, for people.
const rangeName = "IP address or range"

// ParseRange reads an address or a CIDR.
func ParseRange(word string) (Target, error) {
	if addr, err := netip.ParseAddr(word); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return RangeOf(netip.PrefixFrom(addr, addr.BitLen())), nil
	}
	prefix, err := netip.ParsePrefix(word)
	switch {
	case err != nil && strings.Contains(word, ","):
		return Target{}, refusal.Invalid(rangeName, word, "203.0.113.7 198.51.100.9",
			"Spaces stand between several, no commas")
	case err != nil:
		return Target{}, refusal.Invalid(rangeName, word, "203.0.113.7")
	}
	prefix = record.Unmap(prefix)
	if prefix.Masked() != prefix {
		return Target{}, refusal.Invalid(rangeName, word, prefix.Masked().String(), "Perhaps ",
			text.Code(prefix.Masked().String()), " or ", text.Code(prefix.Addr().String()))
	}
	if mapped := netip.MustParsePrefix("::ffff:0:0/96"); mapped.Overlaps(prefix) {
		return Target{}, refusal.Invalid(rangeName, word, "203.0.113.0/24",
			"It holds all of IPv4 as IPv6 writes it: write IPv4 ranges as such")
	}
	return RangeOf(prefix), nil
}

// RangeOf is the target of a range.
func RangeOf(p netip.Prefix) Target { return Target{Kind: apiclient.KindRange, Prefix: p} }

// String is the target as the grammar writes it; a range of one address is that address.
func (t Target) String() string {
	if i := slices.IndexFunc(nameKinds, func(k nameKind) bool { return k.kind == t.Kind }); i >= 0 {
		return nameKinds[i].word + ":" + t.Value
	}
	if t.Prefix.IsSingleIP() {
		return t.Prefix.Addr().String()
	}
	return t.Prefix.String()
}

// TargetsOf is what an entry is about; an entry of several values is about several targets.
func TargetsOf(e apiclient.IPRule) []Target {
	if e.Kind == apiclient.KindRange {
		return []Target{RangeOf(e.Subnet)}
	}
	var ts []Target
	for _, v := range e.Values {
		ts = append(ts, Target{Kind: e.Kind, Value: v})
	}
	return ts
}

// Covers reports whether an entry for t also holds for other.
func (t Target) Covers(other Target) bool {
	if t.Kind != other.Kind {
		return false
	}
	if t.Kind != apiclient.KindRange {
		return strings.EqualFold(t.Value, other.Value)
	}
	return t.Prefix.Bits() <= other.Prefix.Bits() && t.Prefix.Contains(other.Prefix.Addr())
}

// Overlaps reports whether some address is in both, or stands for one that is. A range that stands for more of IPv4
// than anybody could deny, such as all of NAT64, is only what it says: else, once it is protected, no IPv4 address
// could be denied.
func (t Target) Overlaps(p netip.Prefix) bool {
	p = record.Unmap(p)
	switch {
	case t.Kind != apiclient.KindRange:
		return false
	case p.Addr().Is6() && slices.ContainsFunc(record.IPv4Within(p),
		func(in netip.Prefix) bool { return in.Bits() < apiclient.WidestIPv4 }):
		return t.Prefix.Overlaps(p)
	}
	return record.SameHosts(t.Prefix, p)
}

// Ranges are a range, and the IPv4 ranges that it stands for.
func (t Target) Ranges() []netip.Prefix {
	if t.Prefix.Addr().Is4() {
		return []netip.Prefix{t.Prefix}
	}
	return append(record.IPv4Within(t.Prefix), t.Prefix)
}
