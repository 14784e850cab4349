package record

import (
	"net/netip"
	"slices"
)

// carrier is a part of IPv6 whose addresses stand for IPv4 addresses that they hold.
type carrier struct {
	in       netip.Prefix
	at       int  // the bit from which on the address stands
	inverted bool // each of its bits
}

var carriers = []carrier{
	{in: netip.MustParsePrefix("::ffff:0:0/96"), at: 96},             // v4-mapped
	{in: netip.MustParsePrefix("::/96"), at: 96},                     // v4-compatible, which nobody uses any more
	{in: netip.MustParsePrefix("::ffff:0:0:0/96"), at: 96},           // v4-translated (SIIT)
	{in: netip.MustParsePrefix("64:ff9b::/96"), at: 96},              // NAT64
	{in: netip.MustParsePrefix("64:ff9b:1::/48"), at: 96},            // NAT64 of a network of its own
	{in: netip.MustParsePrefix("2002::/16"), at: 16},                 // 6to4
	{in: netip.MustParsePrefix("2001::/32"), at: 96, inverted: true}, // Teredo: the client
}

// IPv4Within are the IPv4 ranges that a range stands for: itself if it is one, and what IPv6 addresses in it carry. One
// that is wider than what carries addresses holds all of IPv4.
func IPv4Within(p netip.Prefix) (all []netip.Prefix) {
	if p.Addr().Is4() {
		return []netip.Prefix{p}
	}
	for _, c := range carriers {
		if p.Overlaps(c.in) {
			all = append(all, c.read(p))
		}
	}
	// ISATAP is an interface's id in any network: of wider ranges it says nothing.
	if id := p.Addr().As16(); p.Bits() >= 96 && id[8]&^2 == 0 && [3]byte(id[9:]) == [3]byte{0, 0x5e, 0xfe} {
		all = append(all, carrier{at: 96}.read(p))
	}
	return all
}

func (c carrier) read(p netip.Prefix) netip.Prefix {
	whole := p.Addr().As16()
	ip := [4]byte(whole[c.at/8:])
	for i := range ip {
		if c.inverted {
			ip[i] = ^ip[i]
		}
	}
	return netip.PrefixFrom(netip.AddrFrom4(ip), min(max(p.Bits()-c.at, 0), 32)).Masked()
}

// SameHosts reports whether an address in one range is one in the other, or stands for it.
func SameHosts(a, b netip.Prefix) bool {
	if a.Overlaps(b) || a.Addr().Is4() && b.Addr().Is4() {
		return a.Overlaps(b)
	}
	return slices.ContainsFunc(IPv4Within(a), func(x netip.Prefix) bool { return slices.ContainsFunc(IPv4Within(b), x.Overlaps) })
}

// Unmap makes an IPv4 range of one written as v4-mapped IPv6, which would slip through every guard otherwise.
func Unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}
