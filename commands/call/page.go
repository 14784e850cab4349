package call

import (
	"strconv"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How many lines a listing shows at first, and how many of them one message of a chat certainly holds: it takes about 10,000 characters.
const (
	ShortList = 10
	LongList  = 25
	maxListed = 370 // characters of one of these lines, in Slack's markup
)

// ArgPage is the page of a listing.
var ArgPage = Arg{Name: "page", Help: "which page, where there are several: 2", Read: readPage}

func readPage(value string, _ *Account) (string, error) {
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || n == 0 {
		return "", refusal.Usage(text.New(refusal.Typed(value), " is no page: write a number, as ", text.Code("page=2")))
	}
	return strconv.FormatUint(n, 10), nil
}

// Pager cuts a listing into pages. One of several parts, as of several accounts, shows the same page of each.
type Pager struct {
	*Call
	page int // counts from 1
	size int // lines of a part on a page; 0: all
	last int // the last page of the longest part so far
}

// Pages begins a listing of so many parts. The terminal holds as much as there is, a message of a chat does not.
func Pages(c *Call, parts int) *Pager {
	p := &Pager{Call: c, page: 1, size: ShortList, last: 1}
	if n, err := strconv.Atoi(c.Line.Keys["page"]); err == nil {
		p.page = n
	}
	switch {
	case p.inChat() && c.Line.Has("all"):
		p.size = LongList
	case c.Line.Has("all"):
		p.size = 0
	}
	if p.inChat() {
		p.size = max(1, min(p.size, LongList/max(parts, 1)))
	}
	return p
}

func (p *Pager) inChat() bool { return p.Actor.Via != record.ViaCLI }

// Part is this page of a part that has n lines.
func (p *Pager) Part(n int, line func(i int) text.Text) []text.Text {
	size := p.size
	if size == 0 {
		size = max(n, 1)
	}
	p.last = max(p.last, (n+size-1)/size)
	from, to := min((p.page-1)*size, n), min(p.page*size, n)
	var lines []text.Text
	for i := from; i < to; i++ {
		t := text.New("• ", line(i))
		if p.inChat() {
			t = t.Cut(maxListed)
		}
		lines = append(lines, t)
	}
	switch {
	case to < n && p.inChat():
		lines = append(lines, text.New("… and ", n-to, " more"))
	case to < n:
		lines = append(lines, text.New("… and ", n-to, " more: add ", text.Code("--all")))
	}
	return lines
}

// Document is this page of a document; "" behind its last.
func (p *Pager) Document(pages []string) string {
	p.last = len(pages)
	if p.page > p.last {
		return ""
	}
	return pages[p.page-1]
}

// Finish ends the listing with the line that shows its next page.
func (p *Pager) Finish(res Result) (Result, error) {
	if p.page > p.last {
		return Result{}, refusal.Usage(text.New("there is no page ", p.page, ": the last one is ", p.last))
	}
	if p.page < p.last {
		next := p.Line.With("page", strconv.Itoa(p.page+1)).With("account", p.OnlyAccount())
		res.Next = &next
	}
	return res, nil
}
