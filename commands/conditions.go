package commands

import (
	"fmt"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func conditions() *Command {
	return &Command{
		Name: "conditions", Role: record.Viewer, Flags: []string{"all"},
		Summary: "which requests rules are for: sets of conditions, and how many rules each has",
		Args:    []Arg{argPage},
		Read:    readConditions,
	}
}

// conditionRow is a set of conditions for programs.
type conditionRow struct {
	ID         int64                 `json:"id"`
	Conditions []apiclient.Condition `json:"conditions"`
	Rules      int                   `json:"rules"`
}

func readConditions(c *Call) (Result, error) {
	sets, err := c.given().Conditions()
	if err != nil {
		return Result{}, forPeople(err)
	}
	rules, err := c.given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return Result{}, forPeople(err)
	}
	attached := map[int64]int{}
	for _, r := range rules {
		attached[r.ConditionID]++
	}
	rows := []conditionRow{}
	for _, s := range sets {
		rows = append(rows, conditionRow{s.ID, s.Conditions, attached[s.ID]})
	}
	res := Result{Account: c.Account.Name, Data: rows, Lines: []text.Text{text.New(text.Bold(c.Account.Name), ": ", text.Count(len(rows), "set"), " of conditions")}}
	pages := c.pages(1)
	res.Lines = append(res.Lines, pages.part(len(rows), func(i int) text.Text {
		return text.New(text.Code(fmt.Sprint(rows[i].ID)), " ", scopeText(rows[i].Conditions), ": ", text.Count(rows[i].Rules, "rule"))
	})...)
	return pages.finish(res)
}
