package apiclient

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// hostNames makes the ASCII form of a host as browsers do. Underscores are no letters of host names, but hosts
// have them.
var hostNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(false))

// CleanHost is a host as requests name it: ASCII, lower case, without a dot at its end or the port that its scheme
// has anyway.
func CleanHost(host string) (string, error) {
	name, port := host, ""
	i := strings.LastIndexByte(host, ':')
	if i >= 0 && (!strings.Contains(host[:i], ":") || strings.HasSuffix(host[:i], "]")) {
		name, port = host[:i], host[i:]
	}
	if port == ":80" || port == ":443" {
		port = ""
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		ascii, err := hostNames.ToASCII(name)
		if err != nil {
			return "", fmt.Errorf("host %q: no host has that name", host)
		}
		name = ascii
	}
	return strings.ToLower(strings.TrimSuffix(name, ".") + port), nil
}

// CleanPath is a path as rules see it: percent-decoded, each slash once, without "." and "..". It refuses what no
// condition says then: an encoded character that means something else where it stands in a path, and bytes that are
// no text.
func CleanPath(written string) (string, error) {
	clean, err := url.PathUnescape(written)
	if err != nil { // a % that stands for itself
		clean = written
	}
	for _, mark := range []string{"/", "*", "?", "#"} {
		if strings.Count(clean, mark) > strings.Count(written, mark) {
			return "", fmt.Errorf("path %q: must not hold an encoded %s", written, mark)
		}
	}
	if !utf8.ValidString(clean) {
		return "", fmt.Errorf("path %q: must be UTF-8", written)
	}
	if !strings.HasPrefix(clean, "/") {
		return clean, nil
	}
	last := clean[strings.LastIndexByte(clean, '/')+1:]
	if clean = path.Clean(clean); clean != "/" && (last == "" || last == "." || last == "..") {
		clean += "/"
	}
	return clean, nil
}

// EncodePath writes a clean path so that CleanPath reads it.
func EncodePath(clean string) string { return strings.ReplaceAll(clean, "%", "%25") }
