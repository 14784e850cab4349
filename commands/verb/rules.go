package verb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func rules() *call.Command {
	return &call.Command{
		Name: "rules", Role: record.Viewer, Flags: []string{"all"},
		Summary: "patches, indicators and modes, the last changed first, and which of them wafbot made",
		Args:    []call.Arg{{Name: "condition", Help: "only those of one set of conditions, as conditions numbers them", Read: readNumber}, call.ArgPage},
		Example: "rules condition=5001",
		Read:    readRules,
	}
}

// readNumber takes a number that the service has given.
func readNumber(value string, _ *call.Account) (string, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 {
		return "", refusal.Usage(text.New(refusal.Typed(value), " is no number: ", text.Code("rules"), " and ", text.Code("conditions"), " list them"))
	}
	return strconv.FormatInt(n, 10), nil
}

// ruleRow is a rule for programs, with the change of wafbot's that made it.
type ruleRow struct {
	apiclient.Rule
	Change string `json:"change,omitempty"`
}

func readRules(c *call.Call) (call.Result, error) {
	var f apiclient.RuleFilter
	if typed := c.Line.Keys["condition"]; typed != "" {
		var err error
		if f.ConditionID, err = strconv.ParseInt(typed, 10, 64); err != nil {
			return call.Result{}, fmt.Errorf("read condition %q: %w", typed, err)
		}
	}
	all, err := c.Given().Rules(f)
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	var away error
	c.Changes, away = c.Facts(c.Account.Name).Changes()
	makers := change.ChangesByRule(c)
	data, known, others := []ruleRow{}, []apiclient.Rule{}, map[string]int{}
	for _, r := range all {
		data = append(data, ruleRow{r, makers[r.ID].ID})
		if readable(r) {
			known = append(known, r)
		} else {
			others[kindText(r)]++
		}
	}
	res := call.Result{Account: c.Account.Name, Data: data, Lines: []text.Text{text.New(text.Bold(c.Account.Name), ": ", text.Count(len(all), "rule"))}}
	if away != nil {
		res.Lines = append(res.Lines, text.New("Which of them wafbot made is unknown: its store (Redis) can't be reached"))
	}
	pages := call.Pages(c, 1)
	res.Lines = append(res.Lines, pages.Part(len(known), func(i int) text.Text { return ruleLine(known[i], makers[known[i].ID]) })...)
	if n := len(all) - len(known); n > 0 {
		res.Lines = append(res.Lines, text.New("And ", n, " of other kinds, which wafbot leaves alone: ", kindsText(others)))
	}
	return pages.Finish(res)
}

// readable reports whether a rule is of a kind that wafbot knows; a listing holds many more.
func readable(r apiclient.Rule) bool {
	return slices.Contains([]string{apiclient.RulePatch, apiclient.RuleRegex, apiclient.RuleMode}, r.Type)
}

// kindText is a kind of rule that wafbot does not know, by the service's name for it.
func kindText(r apiclient.Rule) string {
	if r.System {
		return text.Sanitize(r.Type, text.MaxField) + " (" + systemRule + ")"
	}
	return text.Sanitize(r.Type, text.MaxField)
}

const systemRule = "the service's own"

func kindsText(kinds map[string]int) string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, fmt.Sprintf("%d %s", kinds[kind], kind))
	}
	return text.Sanitize(strings.Join(all, ", "), 300)
}

// ruleLine is a rule in one line; made is the change of wafbot's that made it, if one did.
func ruleLine(r apiclient.Rule, made record.Change) text.Text {
	line := text.New(text.Code(fmt.Sprint(r.ID)), " ", describe.Rule(r))
	if r.System {
		line = text.New(line, ", ", systemRule)
	}
	switch {
	case !made.DueAt().IsZero():
		return text.New(line, ", made by wafbot for ", made.Actor.Name, " (", text.Code(made.ID), "), until ", made.DueAt())
	case made.ID != "":
		return text.New(line, ", made by wafbot for ", made.Actor.Name, " (", text.Code(made.ID), ")")
	case r.Comment != "":
		return text.New(line, " (", text.Sanitize(r.Comment, 120), ")")
	}
	return line
}
