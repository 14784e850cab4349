package verb

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func attacks() *call.Command {
	return &call.Command{
		Name: "attacks", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "the attacks of the last hour, the newest first",
		Args: []call.Arg{
			{Name: "since", Help: "how far back: 1h", Read: call.ReadDuration},
			{Name: "storm", Help: "only those that a storm groups, by its id, as on its card", Options: form.StormsGathered}, call.ArgPage,
		},
		Read: func(c *call.Call) (call.Result, error) {
			if c.Line.Keys["storm"] != "" {
				return report.ListGrouped(c)
			}
			return readListing(c, "attack", time.Hour, apiclient.AttackFilter{})
		},
	}
}

// readListing lists attacks, or incidents only, of all the accounts that the call is about.
func readListing(c *call.Call, what string, back time.Duration, f apiclient.AttackFilter) (call.Result, error) {
	var err error
	if f.From, err = report.Since(c, back); err != nil {
		return call.Result{}, err
	}
	res := call.Result{Account: c.OnlyAccount()}
	data, pages := []call.AttackRow{}, call.Pages(c, len(c.InScope))
	failed := 0
	for _, a := range c.InScope {
		all, err := c.Facts(a.Name).Attacks(f)
		if err != nil {
			err := refusal.FromService(fmt.Errorf("list attacks of %s: %w", a.Name, err))
			if failed++; failed == len(c.InScope) {
				return call.Result{}, err
			}
			words, _ := call.ForPeople(c.Invocation, err)
			res.Lines = append(res.Lines, text.New(text.Bold(a.Name), ": unknown: ", words))
			continue
		}
		res.Lines = append(res.Lines, text.New(text.Bold(a.Name), ": ", text.Count(len(all), what), " in the last ", text.Duration(c.Now.Sub(f.From))))
		res.Lines = append(res.Lines, report.AttackList(c, pages, a, all)...)
		for _, attack := range all {
			data = append(data, call.AttackRow{ID: record.AttackID(a.Name, attack.ID), Account: a.Name, Ongoing: c.Ongoing(a, attack), Attack: attack})
		}
	}
	res.Data = data
	return pages.Finish(res)
}

func incidents() *call.Command {
	return &call.Command{
		Name: "incidents", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "the attacks that worked, the newest first",
		Args:    []call.Arg{{Name: "since", Help: "how far back: 24h", Read: call.ReadDuration}, call.ArgPage},
		Read: func(c *call.Call) (call.Result, error) {
			return readListing(c, "incident", 24*time.Hour, apiclient.AttackFilter{IncidentsOnly: true})
		},
	}
}
