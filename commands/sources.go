package commands

import (
	"context"
	"net/netip"
	"strings"
)

func sources() *Command {
	return &Command{
		Name: "sources", Role: Viewer, Flags: []string{"all"},
		Summary: "what is never denied, or only with a second person: by the configuration, by an admin, by nature",
		Args:    []Arg{{Name: "text", Object: true, Help: "an address, or a part of a name or a range; left out: all"}, argPage},
		Read:    readSources,
	}
}

// namedSource is a source for programs.
type namedSource struct {
	Name      string         `json:"name"`
	Ranges    []netip.Prefix `json:"ranges"`
	Deny      string         `json:"deny"`
	Cards     bool           `json:"cards"`
	By        string         `json:"by"` // configuration, wafbot, or protect
	File      string         `json:"file,omitempty"`
	Broken    string         `json:"broken,omitempty"`
	Protected *Protected     `json:"protected,omitempty"`
}

func readSources(ctx context.Context, c *Call) (Result, error) {
	away := c.look(ctx)
	var lines []Text
	data := []namedSource{}
	add := func(s Source, by string, p *Protected, line Text) {
		if !s.matches(c.Line.Words) {
			return
		}
		lines = append(lines, line)
		deny := DenyNever
		if s.Deny == DenySecond {
			deny = DenySecond
		}
		data = append(data, namedSource{s.Name, s.Ranges, deny, !s.NoCards, by, s.File, s.Broken, p})
	}
	for _, s := range c.cfg.Policy.named() {
		add(s, "configuration", nil, s.line())
	}
	for _, p := range c.scene.Protected {
		add(p.source(), "protect", &p, ProtectedLine(p))
	}
	for _, s := range builtin() {
		add(s, "wafbot", nil, Say(s.line(), ", by nature"))
	}
	pages := c.pages(1)
	shown := pages.part(len(lines), func(i int) Text { return lines[i] })
	head := Say("Sources that are spared on ", c.Account.Name, ": ", len(lines))
	if away != nil {
		c.cfg.Log.Warn("look what is protected", "account", c.Account.Name, "err", away)
		head = Say(head, ". What an admin protected is unknown: wafbot's memory (Redis) can't be reached")
	}
	return pages.finish(Result{Account: c.Account.Name, Lines: append([]Text{head}, shown...), Data: data})
}

// matches reports whether a source is what was asked for.
func (s Source) matches(words []string) bool {
	if len(words) == 0 {
		return true
	}
	if t, err := parseRange(words[0]); err == nil {
		for _, r := range s.Ranges {
			if t.overlaps(r) {
				return true
			}
		}
		return false
	}
	text := strings.ToLower(words[0])
	for _, r := range s.Ranges {
		if strings.Contains(r.String(), text) {
			return true
		}
	}
	return strings.Contains(strings.ToLower(s.Name), text)
}

// maxRanges is how many ranges of a source are shown: a CDN has hundreds.
const maxRanges = 5

// maxFile is how many characters of a file's path are shown.
const maxFile = 120

// line is a source in one line.
func (s Source) line() Text {
	line := Say(Bold(Visible(s.Name, maxField)))
	for i, r := range s.Ranges[:min(maxRanges, len(s.Ranges))] {
		if i > 0 {
			line = Say(line, ",")
		}
		line = Say(line, " ", Code(rangeOf(unmap(r)).String()))
	}
	if more := len(s.Ranges) - maxRanges; more > 0 {
		line = Say(line, " and ", count(more, "more range"))
	}
	line = Say(line, ", ", howDenied(s.Deny))
	if s.NoCards {
		line = Say(line, ", no cards")
	}
	if s.File != "" {
		line = Say(line, ", with ", Code(Visible(s.File, maxFile)), " as of ", s.ReadAt)
	}
	if s.Broken != "" {
		line = Say(line, ". ", Bold("It can't be read now"), ": ", s.Broken)
	}
	return line
}

// brokenSources warns of files that can't be read, or can't be read any more.
func (p Policy) brokenSources() []Text {
	var lines []Text
	for _, s := range p.named() {
		if s.Broken != "" {
			lines = append(lines, Say(Bold("Source "+Visible(s.Name, maxField)), ": ", Code(Visible(s.File, maxFile)), " can't be read: ", s.Broken,
				". What it held at ", s.ReadAt, " counts"))
		}
	}
	return lines
}
