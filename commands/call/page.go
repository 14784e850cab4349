package call

import (
	"math"
	"strconv"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How many lines a listing shows at first, and how many of them a chat shows at most.
const (
	ShortList = 10
	LongList  = 25
)

// ArgPage is the page of a listing.
var ArgPage = Arg{Name: "page", Help: "which page, where there are several: 2", Read: readPage}

func readPage(value string, _ *config.Account) (string, error) {
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || n == 0 {
		return "", refusal.Invalid("page", value, "2")
	}
	return strconv.FormatUint(n, 10), nil
}

// PageOf is the page that a line asks for, from 1 on.
func PageOf(line record.Line) int {
	n, _ := strconv.Atoi(line.Keys["page"])
	return max(n, 1)
}

// WithPage is the line that shows another page.
func WithPage(line record.Line, page int) *record.Line {
	return new(line.With("page", strconv.Itoa(page)))
}

// NoPage says that a listing or document has fewer pages.
func NoPage(page, last int) text.Text {
	return text.Newf("Invalid page: %v. The last one is %v", page, last)
}

// Pager cuts a listing into pages. One of several parts, as of several accounts, shows the same page of each.
type Pager struct {
	*Call
	page int // counts from 1
	size int // lines of a part on a page
	last int // the last page of the longest part so far
}

// Pages begins a listing of so many parts. The terminal holds as much as there is, a message of a chat does not.
func Pages(c *Call, parts int) *Pager {
	p := &Pager{Call: c, page: PageOf(c.Line), size: ShortList, last: 1}
	if c.Line.Has("all") {
		p.size = math.MaxInt32
	}
	if p.inChat() {
		p.size = max(1, min(p.size, LongList/max(parts, 1)))
	}
	return p
}

func (p *Pager) inChat() bool { return p.Actor.Via != record.ViaCLI }

// Part is this page of a part that has n lines.
func (p *Pager) Part(n int, line func(i int) text.Text) (lines text.Lines) {
	p.last = max(p.last, (n+p.size-1)/p.size)
	to := min(p.page*p.size, n)
	for i := (p.page - 1) * p.size; i < to; i++ {
		lines.Add(text.Row(line(i)))
	}
	switch {
	case to < n && p.inChat():
		lines.Addf("… and %v more", n-to)
	case to < n:
		lines.Addf("… and %v more: add `--all`", n-to)
	}
	return lines
}

// Table is Part with titles over its columns at the terminal.
func (p *Pager) Table(titles []string, n int, line func(i int) text.Text) text.Lines {
	lines := p.Part(n, line)
	if len(titles) == 0 || n == 0 || p.inChat() {
		return lines
	}
	head := text.Row(nil)
	for i, title := range titles {
		if i > 0 {
			head.Addf("| |")
		}
		head.Add(text.Bold(title))
	}
	return append(text.Lines{head}, lines...)
}

// Finish ends the listing with the line that shows its next page.
func (p *Pager) Finish(res Result) (Result, error) {
	if p.page > p.last {
		return Result{}, refusal.Usage("%v", NoPage(p.page, p.last))
	}
	if p.page < p.last {
		res.Next = WithPage(p.Line.With("account", p.OnlyAccount()), p.page+1)
	}
	return res, nil
}

// Part is a titled part of an answer.
type Part struct {
	Title text.Text
	Rows  []Row
	More  text.Text    // what there was no room for and where it is; nil: nothing is left out
	Do    []Suggestion // about all of it
}

// Row is a line of a part, with what can be done about it.
type Row struct {
	Text text.Text
	Do   []Suggestion
}

// CutTo leaves the part's first rows, and says how many it leaves out; at most 0 of them leaves all.
func (p Part) CutTo(most int, where record.Line) Part {
	if left := len(p.Rows) - most; most > 0 && left > 0 {
		p.Rows, p.More = p.Rows[:most], text.Newf("… and %v more: type `%v`", text.Number(left), where.String())
	}
	return p
}
