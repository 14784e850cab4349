package verb

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/text"
)

// conditionRow is a set of conditions for programs.
type conditionRow struct {
	ID         int64                 `json:"id"`
	Conditions []apiclient.Condition `json:"conditions"`
	Rules      int                   `json:"rules"`
}

func readConditions(c *call.Call) (res call.Result, err error) {
	sets, err := c.Facts.Conditions.Get()
	if err != nil {
		return res, refusal.FromService(err)
	}
	rules, err := c.Facts.Rules.Get()
	if err != nil {
		return res, refusal.FromService(err)
	}
	attached := map[int64]int{}
	for _, r := range rules {
		attached[r.ConditionID]++
	}
	var rows []conditionRow
	for _, s := range sets {
		rows = append(rows, conditionRow{s.ID, s.Conditions, attached[s.ID]})
	}
	return listing(c, counted(c, len(rows), "set", " of conditions"), []string{"ID", "FOR", "RULES"}, rows,
		func(row conditionRow) text.Text {
			return text.Newf("`%v`| |%v|: |%v", row.ID, words.Scope(c.Account, row.Conditions), text.Count(row.Rules, "rule"))
		})
}
