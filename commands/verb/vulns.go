package verb

import (
	"cmp"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func vulns() *call.Command {
	return &call.Command{
		Name: "vulns", Role: record.Viewer, Flags: []string{"all"},
		Summary: "the security issues that are open, the most severe first",
		Args:    []call.Arg{{Name: "which", Object: true, Help: "all: closed ones and false positives too", Read: call.OneOf("word", "all")}, call.ArgPage},
		Example: "vulns all",
		Read:    readVulns,
	}
}

func readVulns(c *call.Call) (call.Result, error) {
	all := len(c.Line.Words) > 0
	issues, err := c.Given().Vulnerabilities(apiclient.VulnFilter{ActiveOnly: !all})
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	if !all {
		issues = slices.DeleteFunc(issues, closed)
	}
	slices.SortStableFunc(issues, bySeverity)
	what := "open security issue"
	if all {
		what = "security issue"
	}
	return listing(c, counted(c, len(issues), what), []string{"ID", "SEVERITY", "WHAT", "STATE", "INCIDENTS", "WHERE"}, issues, vulnLine)
}

func closed(v apiclient.Vulnerability) bool { return v.Status != "" && v.Status != "open" }

// bySeverity orders open issues before closed ones, the most severe first, and of equal ones the newest: their numbers count up.
func bySeverity(x, y apiclient.Vulnerability) int {
	first := func(v apiclient.Vulnerability) int {
		if closed(v) {
			return 1
		}
		return 0
	}
	return cmp.Or(first(x)-first(y), cmp.Compare(y.Threat.N, x.Threat.N), cmp.Compare(len(y.ID), len(x.ID)), cmp.Compare(y.ID, x.ID))
}

func vulnLine(v apiclient.Vulnerability) text.Text {
	status := map[string]string{"": "state unknown", "falsepositive": "false positive"}[v.Status]
	line := text.New(text.Code(text.Sanitize(v.ID, text.MaxField)), text.Cell(" "), text.Bold(describe.Severity(v.Threat)), text.Cell(" "), cmp.Or(text.Sanitize(v.Title, text.MaxPath), describe.TypeName(text.Sanitize(v.Type, text.MaxField))),
		text.Cell(", "), cmp.Or(status, text.Sanitize(v.Status, text.MaxField)))
	if v.Incidents.Known {
		line = text.New(line, text.Cell(", "), describe.Figure(v.Incidents, "incident"))
	} else {
		line = text.New(line, text.Cell(""))
	}
	if v.Domain == "" && v.Path == "" {
		return line
	}
	return text.New(line, text.Cell(": "), text.Code(describe.Where(apiclient.Attack{Method: v.Method, Domain: v.Domain, Path: v.Path})))
}
