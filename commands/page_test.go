package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

var anyone = record.Actor{ID: "cli:eve", Name: "eve", Via: record.ViaCLI}

// turned follows a listing from page to page and gives the listed lines of each.
func (w *world) turned(who record.Actor, line string) [][]string {
	w.t.Helper()
	var pages [][]string
	res := w.reads(who, line)
	for {
		var listed []string
		for _, l := range res.Lines {
			if item, ok := strings.CutPrefix(l.String(), "• "); ok {
				listed = append(listed, item)
			}
		}
		pages = append(pages, listed)
		if res.Next == nil {
			return pages
		}
		require.Equal(w.t, "acme", res.Next.Keys["account"])
		res = w.reads(who, res.Next.String())
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 28 {
		w.seed(waf.IPRule{Subnet: "203.0.113." + itoa(int64(i)), Reason: "by hand"})
	}
	sizes := func(who record.Actor, line string) []int {
		var n []int
		seen := map[string]bool{}
		for _, page := range w.turned(who, line) {
			if who.Via == record.ViaCLI { // there it begins with the titles of its columns
				require.Contains(t, page[0], "SOURCE")
				page = page[1:]
			}
			n = append(n, len(page))
			for _, l := range page {
				require.False(t, seen[l], "twice: %s", l)
				seen[l] = true
			}
		}
		return n
	}
	require.Equal(t, []int{10, 10, 8}, sizes(eve, "lists"))
	require.Equal(t, []int{10, 8}, sizes(eve, "lists page=2"))
	require.Equal(t, []int{25, 3}, sizes(eve, "lists --all"), "a message of a chat holds no more")
	require.Equal(t, []int{28}, sizes(anyone, "lists --all"))
	require.Equal(t, []int{10, 10, 8}, sizes(anyone, "lists"))
	require.Equal(t, []int{1}, sizes(eve, "lists black 203.0.113.9"))

	res := w.reads(eve, "lists black")
	require.Equal(t, "lists black account=acme page=2", res.Next.String())
	require.Contains(t, textOf(res), "… and 18 more")
	require.NotContains(t, textOf(res), "--all")
	require.Contains(t, textOf(w.reads(anyone, "lists page=2")), "… and 8 more: add --all")
	require.Len(t, res.Data, 28, "a program gets all of it")
	w.refuses(eve, "lists page=4", refusal.ErrUsage, "Invalid page: 4. The last one is 3")
	w.refuses(anyone, "lists --all page=2", refusal.ErrUsage, "The last one is 1")
	for _, page := range []string{"0", "-1", "two", "1.5", "99999999999"} {
		w.refuses(eve, "lists page="+page, refusal.ErrUsage, "Invalid page")
	}
	w.reads(eve, "lists white page=1") // an empty listing has a first page
}

func TestThePartsOfStatusShareTheirPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 23 {
		w.does(ann, "deny 203.0.113."+itoa(int64(i)))
		if i < 11 {
			w.attackOn("/p" + itoa(int64(i)))
		}
	}
	var sizes []int
	for _, page := range w.turned(eve, "status") {
		sizes = append(sizes, len(page))
	}
	require.Equal(t, []int{20, 11, 3}, sizes)
	sizes = nil
	for _, page := range w.turned(eve, "status --all") {
		sizes = append(sizes, len(page))
	}
	require.Equal(t, []int{23, 11}, sizes, "a message of a chat holds no more")
}

// A row begins with the id that undo wants: a chat cuts the end of a long one.
func TestRowsBeginWithTheirID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ch := w.does(ann, "patch POST shop.example.com/"+strings.Repeat("a", 90)+" type=sqli part=post.form_urlencoded."+strings.Repeat("b", 50)+" for=2h")
	require.True(t, strings.HasPrefix(w.turned(eve, "status")[0][0], ch.ID+" Patch exactly POST"))
}
