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

// lists are what the accounts of a call list.
type lists[T any] struct {
	what, span string // "attack", " in the last 1 h"
	titles     []string
	at         func(T) time.Time
	line       func(*config.Account, T) text.Text
	of         []listed[T]
}

// listed is what an account lists, or why that is unknown.
type listed[T any] struct {
	account *config.Account
	rows    []T
	err     error
}

// answer shows the lists; data is the same for programs.
func (l lists[T]) answer(c *call.Call, data any) (call.Result, error) {
	res := call.Result{Account: c.OnlyAccount(), Data: data}
	if Together(c) {
		return l.together(c, res)
	}
	pages := call.Pages(c, len(l.of))
	for _, list := range l.of {
		if list.err != nil {
			words, _ := call.ForPeople(c.Invocation, list.err)
			res.Lines.Addf("*%v*: unknown: %v", list.account.Name, words)
			continue
		}
		res.Lines.Addf("*%v*: %v%v", list.account.Name, text.Count(len(list.rows), l.what), l.span)
		line := func(i int) text.Text { return l.line(list.account, list.rows[i]) }
		res.Lines = append(res.Lines, pages.Table(l.titles, len(list.rows), line)...)
	}
	return pages.Finish(res)
}

// together shows the lists as one, the newest first. Of the accounts that could not be read it names a few.
func (l lists[T]) together(c *call.Call, res call.Result) (call.Result, error) {
	type row struct {
		account *config.Account
		one     T
	}
	var rows []row
	faults, with := map[string]string{}, 0
	for _, list := range l.of {
		if list.err != nil {
			words, _ := call.ForPeople(c.Invocation, list.err)
			faults[list.account.Name] = words.String()
		}
		with += min(1, len(list.rows))
		for _, one := range list.rows {
			rows = append(rows, row{list.account, one})
		}
	}
	slices.SortStableFunc(rows, func(x, y row) int { return l.at(y.one).Compare(l.at(x.one)) })
	head := text.Newf("*%v*%v, in %v of %v",
		text.Count(len(rows), l.what), l.span, text.Number(with), text.Count(len(l.of), "account"))
	if n := len(faults); n > 0 {
		head.Add("; unknown of ", text.Number(n))
	}
	pages := call.Pages(c, 1)
	table := pages.Table(append([]string{"ACCOUNT"}, l.titles...), len(rows), func(i int) text.Text {
		return text.Newf("*%v*| |%v", rows[i].account.Name, l.line(rows[i].account, rows[i].one))
	})
	res.Lines = slices.Concat(text.Lines{head}, unknownOf(faults), table)
	return pages.Finish(res)
}

// ListAttacks lists attacks, or incidents only, of all the accounts that the call is about.
func ListAttacks(c *call.Call, what string, back time.Duration) (res call.Result, err error) {
	from, err := Since(c, back)
	if err != nil {
		return res, err
	}
	l := lists[apiclient.Attack]{
		what: what, span: " in the last " + text.Duration(c.Now.Sub(from)), titles: words.AttackTitles(),
		at:   func(a apiclient.Attack) time.Time { return a.Last },
		line: func(of *config.Account, a apiclient.Attack) text.Text { return words.Attack(of, a, c.Times[of.Name]) },
	}
	data, failed := []call.AttackRow{}, 0
	for _, a := range c.InScope {
		one := c.For(a)
		list := listed[apiclient.Attack]{account: a}
		if list.rows, err = one.Facts.Attacks.Get(); err != nil {
			list.err = refusal.FromService(fmt.Errorf("list attacks of %s: %w", a.Name, err))
			failed++
		}
		for _, attack := range list.rows {
			data = append(data, one.AttackRow(attack, record.Triage{}))
		}
		l.of = append(l.of, list)
	}
	if failed == len(l.of) {
		return res, l.of[failed-1].err
	}
	return l.answer(c, data)
}
