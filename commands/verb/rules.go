package verb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/text"
)

// ruleRow is a rule for programs, with the change of wafbot's that made it.
type ruleRow struct {
	apiclient.Rule
	Change string `json:"change,omitempty"`
}

func readRules(c *call.Call) (call.Result, error) {
	all, err := c.Facts.Rules.Get()
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	var away error
	c.Changes, away = c.Facts.Changes.Get()
	makers := change.ChangesByRule(c)
	data, known, others := []ruleRow{}, []apiclient.Rule{}, map[string]int{}
	for _, r := range all {
		data = append(data, ruleRow{r, makers[r.ID].ID})
		if words.KnownKind(r) {
			known = append(known, r)
		} else {
			others[text.Field(r.Type)+words.ByService(r, " (", ")")]++
		}
	}
	res, err := listing(c, counted(c, len(all), "rule"), []string{"ID", "WHAT", "BY"}, known,
		func(r apiclient.Rule) text.Text { return words.RuleRow(c.Account, r, makers[r.ID]) })
	if err != nil {
		return call.Result{}, err
	}
	res.Data = data
	if away != nil {
		res.Lines = slices.Insert(res.Lines, 1, text.New("Which of them wafbot made is unknown: ", refusal.Store(away)))
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(others)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", others[kind], kind))
	}
	if len(kinds) > 0 {
		return res.And(text.Newf("And %v of other kinds, which wafbot leaves alone: %v",
			len(all)-len(known), text.Sanitize(strings.Join(kinds, ", "), 300))), nil
	}
	return res, nil
}

func ruleNeeds(c *call.Call) call.Needs {
	condition, _ := strconv.ParseInt(c.Line.Keys["condition"], 10, 64) // checked already
	return call.Needs{Rules: cmp.Or(condition, call.AllRules)}
}
