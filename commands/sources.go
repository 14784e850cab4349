package commands

import (
	"net/netip"
	"strings"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func sources() *Command {
	return &Command{
		Name: "sources", Role: record.Viewer, Flags: []string{"all"},
		Summary: "what is never denied, or only with approval: by the configuration, by an admin, by nature",
		Args:    []Arg{{Name: "text", Object: true, Help: "an address, or a part of a name or a range; left out: all"}, argPage},
		Read:    readSources,
	}
}

// namedSource is a source for programs.
type namedSource struct {
	Name      string            `json:"name"`
	Ranges    []netip.Prefix    `json:"ranges"`
	Deny      string            `json:"deny"`
	Cards     bool              `json:"cards"`
	By        string            `json:"by"` // configuration, wafbot, or protect
	File      string            `json:"file,omitempty"`
	Broken    string            `json:"broken,omitempty"`
	Protected *record.Protected `json:"protected,omitempty"`
}

func readSources(c *Call) (Result, error) {
	away := c.look()
	var lines []text.Text
	data := []namedSource{}
	add := func(s Source, by string, p *record.Protected, line text.Text) {
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
	for _, s := range c.Policy.named() {
		add(s, "configuration", nil, s.line())
	}
	for _, p := range c.scene.Protected {
		add(protectedSource(p), "protect", &p, protectedLine(p))
	}
	for _, s := range builtin() {
		add(s, "wafbot", nil, text.New(s.line(), ", by nature"))
	}
	pages := c.pages(1)
	shown := pages.part(len(lines), func(i int) text.Text { return lines[i] })
	head := text.New("Sources that are spared on ", c.Account.Name, ": ", len(lines))
	if away != nil {
		head = text.New(head, ". What an admin protected is unknown: wafbot's store (Redis) can't be reached")
	}
	return pages.finish(Result{Account: c.Account.Name, Lines: append([]text.Text{head}, shown...), Data: data})
}

// matches reports whether a source is what was asked for.
func (s Source) matches(words []string) bool {
	if len(words) == 0 {
		return true
	}
	if t, err := grammar.ParseRange(words[0]); err == nil {
		for _, r := range s.Ranges {
			if t.Overlaps(r) {
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
func (s Source) line() text.Text {
	line := text.New(text.Bold(text.Sanitize(s.Name, text.MaxField)))
	for i, r := range s.Ranges[:min(maxRanges, len(s.Ranges))] {
		if i > 0 {
			line = text.New(line, ",")
		}
		line = text.New(line, " ", text.Code(grammar.RangeOf(grammar.Unmap(r)).String()))
	}
	if more := len(s.Ranges) - maxRanges; more > 0 {
		line = text.New(line, " and ", text.Count(more, "more range"))
	}
	line = text.New(line, ", ", howDenied(s.Deny))
	if s.NoCards {
		line = text.New(line, ", no cards")
	}
	if s.File != "" {
		line = text.New(line, ", with ", text.Code(text.Sanitize(s.File, maxFile)), " as of ", s.ReadAt)
	}
	if s.Broken != "" {
		line = text.New(line, ". ", text.Bold("It can't be read now"), ": ", s.Broken)
	}
	return line
}

// brokenSources warns of files that can't be read, or can't be read any more.
func (p Policy) brokenSources() []text.Text {
	var lines []text.Text
	for _, s := range p.named() {
		if s.Broken != "" {
			lines = append(lines, text.New(text.Bold("Source "+text.Sanitize(s.Name, text.MaxField)), ": ", text.Code(text.Sanitize(s.File, maxFile)), " can't be read: ", s.Broken,
				". What it held at ", s.ReadAt, " counts"))
		}
	}
	return lines
}
