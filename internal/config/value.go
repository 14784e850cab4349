package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // an image from scratch has no time zones of its own

	"github.com/prometheus/common/model"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// reference matches $$ and ${X}, also one that isn't closed.
var reference = regexp.MustCompile(`\$\$|\$\{[^}]*\}?`)

// expand puts the environment's values for ${X}, and a dollar for $$. A dollar before anything else stays.
func expand(text string, environ map[string]string) (expanded string, err error) {
	expanded = reference.ReplaceAllStringFunc(text, func(found string) string {
		name, closed := strings.CutSuffix(found[1:], "}")
		name = strings.TrimPrefix(name, "{")
		value, set := environ[name]
		switch {
		case found == "$$":
			return "$"
		case !closed || name == "":
			err = cmp.Or(err, errors.New("has a ${ that is not a whole ${NAME}; write $$ for a dollar"))
		case !set:
			err = cmp.Or(err, fmt.Errorf("${%s} is not set; set that variable, or write $${ for a plain ${", printable(name)))
		}
		return value
	})
	return expanded, err
}

// setText parses a single value. Its error follows the value: `"x" is no …`.
func setText(target any, text string) error {
	var err error
	switch p := target.(type) {
	case *string:
		*p = text
	case *apiclient.Secret:
		*p = apiclient.Secret(text)
	case *int:
		if *p, err = strconv.Atoi(text); err != nil {
			return errors.New("is no whole number")
		}
	case *float64:
		if *p, err = strconv.ParseFloat(text, 64); err != nil {
			return errors.New("is no number")
		}
	case *bool:
		if *p = text == "true"; !*p && text != "false" {
			return errors.New("is neither true nor false")
		}
	case **bool:
		*p = new(bool)
		return setText(*p, text)
	case *time.Duration:
		*p, err = parseDuration(text)
	case **time.Location:
		*p, err = parseTimezone(text)
	case *Terminal:
		*p = Terminal{EveryoneElse: {Role: text}}
	case *netip.Prefix:
		*p, err = parseRange(text)
	default:
		err = errors.New("cannot be a single value")
	}
	return err
}

func parseDuration(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0, errors.New("is no duration; write it like 30m, 12h, 7d or 1w2d")
	}
	return time.Duration(d), nil
}

// parseTimezone takes no "Local": replicas would then disagree.
func parseTimezone(text string) (*time.Location, error) {
	zone, err := time.LoadLocation(text)
	if err != nil || text == "" || text == "Local" {
		return time.UTC, errors.New("is no time zone; write it like UTC or Europe/Berlin")
	}
	return zone, nil
}

// parseRange parses an address or a CIDR range, v4-mapped ones as IPv4.
func parseRange(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if addr, no := netip.ParseAddr(text); no == nil && addr.Zone() == "" {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix = record.Unmap(prefix)
	switch {
	case err != nil, prefix.Addr().Is4In6():
		return netip.Prefix{}, errors.New("is neither an address nor a range; write it like 192.0.2.7 or 192.0.2.0/24")
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("has bits beyond its /%d; write %s, or the address alone", prefix.Bits(),
			prefix.Masked())
	}
	return prefix, nil
}

// IsLoopback reports whether a host is this machine: what is sent there can't be read on the way.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// splitList splits a list with commas. An empty text is an empty list.
func splitList(text string) []string {
	items := []string{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// isID reports whether text has the shape of a Slack id that starts with one of the letters.
func isID(text, letters string) bool {
	if len(text) < 2 || len(text) > 32 || !strings.Contains(letters, text[:1]) {
		return false
	}
	return onlyOf(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
}

func onlyOf(text, letters string) bool {
	return strings.Trim(text, letters) == ""
}
