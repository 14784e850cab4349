package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Together reports whether the listings of a call's accounts are one list, in which each line names its account: of
// more than a few accounts nobody reads one list after another.
func Together(c *call.Call) bool { return len(c.InScope) > call.ShortList }

// OfAccount is a line of such a list.
func OfAccount(account string, line text.Text) text.Text {
	return text.Lead(account, text.Cell(" "), line)
}

// attackList is what an account lists.
type attackList struct {
	of   *config.Account
	now  time.Time // by the clock of its service
	back time.Duration
	all  []apiclient.Attack
	err  error
}

// ListAttacks lists attacks, or incidents only, of all the accounts that the call is about.
func ListAttacks(c *call.Call, what string, back time.Duration) (call.Result, error) {
	lists, failed, data := make([]attackList, len(c.InScope)), 0, []call.AttackRow{}
	for i, a := range c.InScope {
		one := c.For(a)
		from, err := Since(one, back)
		if err != nil {
			return call.Result{}, err
		}
		l := attackList{of: a, now: one.Now, back: one.Now.Sub(from)}
		if l.all, err = one.Facts.Attacks.Get(); err != nil {
			l.err = refusal.FromService(fmt.Errorf("list attacks of %s: %w", a.Name, err))
			failed++
		}
		for _, attack := range l.all {
			row := call.NewAttackRow(a, attack, record.Triage{})
			row.Ongoing = one.Ongoing(a, attack)
			data = append(data, row)
		}
		lists[i] = l
	}
	if failed == len(lists) {
		return call.Result{}, lists[len(lists)-1].err
	}
	res := call.Result{Account: c.OnlyAccount(), Data: data}
	pages := call.Pages(c, len(lists))
	if Together(c) {
		pages = call.Pages(c, 1)
		res.Lines = listedTogether(c, what, lists, pages)
		return pages.Finish(res)
	}
	for _, l := range lists {
		res.Lines = append(res.Lines, l.lines(c, what, pages)...)
	}
	return pages.Finish(res)
}

// lines are the account's list.
func (l attackList) lines(c *call.Call, what string, pages *call.Pager) []text.Text {
	if l.err != nil {
		words, _ := call.ForPeople(c.Invocation, l.err)
		return []text.Text{text.Lead(l.of.Name, ": unknown: ", words)}
	}
	head := text.Lead(l.of.Name, ": ", text.Count(len(l.all), what), " in the last ", text.Duration(l.back))
	return append([]text.Text{head}, pages.Table(words.AttackTitles(), len(l.all), func(i int) text.Text { return words.Attack(l.of, l.all[i], l.now) })...)
}

// listedTogether are the lists as one, the newest first. Of the accounts that could not be read it names a few.
func listedTogether(c *call.Call, what string, lists []attackList, pages *call.Pager) (lines []text.Text) {
	type row struct {
		list   attackList
		attack apiclient.Attack
	}
	var rows []row
	var unknown []string
	faults, with := map[string]string{}, 0
	for _, l := range lists {
		if l.err != nil {
			words, _ := call.ForPeople(c.Invocation, l.err)
			unknown, faults[l.of.Name] = append(unknown, l.of.Name), words.String()
		}
		if len(l.all) > 0 {
			with++
		}
		for _, attack := range l.all {
			rows = append(rows, row{l, attack})
		}
	}
	slices.SortStableFunc(rows, func(x, y row) int { return y.attack.Last.Compare(x.attack.Last) })
	head := text.Lead(text.Count(len(rows), what), " in the last ", text.Duration(lists[0].back), ", in ", text.Number(with), " of ", text.Count(len(lists), "account"))
	if n := len(unknown); n > 0 {
		head = text.New(head, "; unknown of ", text.Number(n))
	}
	lines = append([]text.Text{head}, unknownOf(unknown, faults)...)
	return append(lines, pages.Table(append([]string{"ACCOUNT"}, words.AttackTitles()...), len(rows), func(i int) text.Text {
		return OfAccount(rows[i].list.of.Name, words.Attack(rows[i].list.of, rows[i].attack, rows[i].list.now))
	})...)
}
