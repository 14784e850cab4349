package apiclient

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Path is which paths a rule is for, in the service's own condition language: /a/b is this path alone. A last segment
// of * is any name without an extension, *.php any name with this one, b.* this name with any extension or none, *.*
// any name at all. ** before it stands for any number of further segments: /a/* is one level below /a/, /a/**/*.*
// everything below.
type Path struct {
	Dirs []string // the segments before the last, from the first on
	Deep bool     // any number of further segments may follow them
	Name string   // the last segment up to its first dot; "*": any
	Ext  string   // with its dot; ".*": any extension, or none
}

// everyPath is how a rule for all paths is typed; its conditions say nothing of the path.
const everyPath = "/**/*.*"

// ParsePath reads a path of the condition language. A last segment of ** is short for **/*.*, and "" for every path. It
// refuses what no conditions say exactly: queries, the service's "[multiple]", and * in place of a segment before the
// last or of a part of one.
func ParsePath(text string) (Path, error) {
	if text == "" {
		text = everyPath
	}
	switch {
	case !strings.HasPrefix(text, "/"):
		return Path{}, fmt.Errorf("path %q: must begin with /", text)
	case len(text) > MaxPath: // it may be cut
		return Path{}, fmt.Errorf("path %.40q…: must be %d bytes at most", text, MaxPath)
	case strings.ContainsAny(text, "?#"):
		return Path{}, fmt.Errorf("path %q: must not hold a query", text)
	case strings.Contains(text, SeveralPaths) || !visible(strings.ReplaceAll(text, " ", "")):
		return Path{}, fmt.Errorf("path %q: must be one path", text)
	}
	if strings.HasSuffix(text, "/**") {
		text += "/*.*"
	}
	p := Path{Dirs: strings.Split(text[1:], "/")}
	last := len(p.Dirs) - 1
	p.Dirs, p.Name = p.Dirs[:last], p.Dirs[last]
	if last > 0 && p.Dirs[last-1] == "**" {
		p.Deep, p.Dirs = true, p.Dirs[:last-1]
	}
	if dot := strings.IndexByte(p.Name, '.'); dot >= 0 {
		p.Name, p.Ext = p.Name[:dot], p.Name[dot:]
	}
	part := func(s, whole string) bool { return s != whole && strings.Contains(s, "*") }
	switch {
	case slices.Contains(p.Dirs, ""):
		return Path{}, errors.New("path must not hold an empty segment")
	case part(p.Name, "*"), part(p.Ext, ".*"), part(strings.Join(p.Dirs, "/"), ""):
		return Path{}, fmt.Errorf(`path %q: "*" stands for a whole last segment or extension only: /x/* is one level below /x/, /x/**/*.* everything below`, text)
	}
	return p, nil
}

// String is the path as ParsePath reads it.
func (p Path) String() string {
	segments := slices.Clone(p.Dirs)
	if p.Deep {
		segments = append(segments, "**")
	}
	return "/" + strings.Join(append(segments, p.Name+p.Ext), "/")
}

// Exact reports whether it is one path.
func (p Path) Exact() bool { return !p.Deep && p.Name != "*" && p.Ext != ".*" }

// Begins reports whether it is all paths that begin with its segments, which conditions on positions alone say.
func (p Path) Begins() bool { return p.Deep && p.Name+p.Ext == "*.*" }

// conditions encode the path: all segments but the last by position, and that there are no more; the last as name and
// extension. What may be anything has none.
func (p Path) conditions() (cs []Condition) {
	for i, segment := range p.Dirs {
		cs = append(cs, equal(segment, "path", strconv.Itoa(i)))
	}
	if !p.Deep {
		cs = append(cs, absent("path", strconv.Itoa(len(p.Dirs))))
	}
	if p.Name != "*" {
		cs = append(cs, equal(p.Name, "action_name"))
	}
	switch p.Ext {
	case ".*":
	case "":
		cs = append(cs, absent("action_ext"))
	default:
		cs = append(cs, equal(p.Ext[1:], "action_ext"))
	}
	return cs
}

// isPathPoint reports whether a condition's point is a part of the path.
func isPathPoint(point []string) bool {
	return slices.Contains([]string{"path", "action_name", "action_ext"}, point[0])
}

// readPath is the path that conditions on its parts say, as far as they do: whether they say just that the way back
// shows.
func readPath(cs []Condition) Path {
	p, segments := Path{Deep: true, Name: "*", Ext: ".*"}, map[string]string{}
	for _, c := range cs {
		switch point := normalPoint(c.Point); {
		case point[0] == "action_name":
			p.Name = c.Value
		case point[0] == "action_ext" && c.Type == ConditionAbsent:
			p.Ext = ""
		case point[0] == "action_ext":
			p.Ext = "." + c.Value
		case c.Type == ConditionAbsent:
			p.Deep = false
		case len(point) == 2:
			segments[point[1]] = c.Value
		}
	}
	for segment, ok := segments["0"]; ok; segment, ok = segments[strconv.Itoa(len(p.Dirs))] {
		p.Dirs = append(p.Dirs, segment)
	}
	return p
}

func visible(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) < 0
}

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
