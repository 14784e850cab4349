package verb

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// allVulns is the word for the issues that are closed, too.
const allVulns = "all"

// vulnID is an issue's id, as the service or its console writes it.
var vulnID = regexp.MustCompile(`^[A-Za-z0-9:._-]*[0-9][A-Za-z0-9:._-]*$`)

func readWhichVulns(value string, _ *config.Account) (string, error) {
	switch {
	case strings.EqualFold(value, allVulns):
		return allVulns, nil
	case vulnID.MatchString(value):
		return value, nil
	}
	return "", refusal.Invalid("issue", value, "812", text.Code("all"), ", or the id of one")
}

func readVulns(c *call.Call) (call.Result, error) {
	if vulnTyped(c) != "" {
		return readVuln(c)
	}
	all := len(c.Line.Words) > 0
	issues, err := c.Facts.Vulnerabilities.Get()
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	what := "security issue"
	if !all {
		issues, what = slices.DeleteFunc(issues, closed), "open security issue"
	}
	slices.SortStableFunc(issues, bySeverity)
	return listing(c, counted(c, len(issues), what), []string{"ID", "SEVERITY", "WHAT", "STATE", "INCIDENTS", "WHERE"},
		issues, vulnLine)
}

func closed(v apiclient.Vulnerability) bool { return v.Status != "" && v.Status != "open" }

// bySeverity orders open issues before closed ones, the most severe first, and of equal ones the newest: their numbers
// count up.
func bySeverity(x, y apiclient.Vulnerability) int {
	first := func(v apiclient.Vulnerability) int {
		if closed(v) {
			return 1
		}
		return 0
	}
	return cmp.Or(first(x)-first(y), cmp.Compare(y.Threat.N, x.Threat.N), cmp.Compare(len(y.ID), len(x.ID)),
		cmp.Compare(y.ID, x.ID))
}

func vulnLine(v apiclient.Vulnerability) text.Text {
	status := map[string]string{"": "state unknown", "falsepositive": "false positive"}[v.Status]
	line := text.Newf("`%v`| |*%v*| |%v|, |%v",
		text.Field(v.ID), words.Severity(v.Threat),
		cmp.Or(text.Sanitize(v.Title, text.MaxPath), words.TypeName(text.Field(v.Type))),
		cmp.Or(status, text.Field(v.Status)))
	if v.Incidents.Known {
		line.Add(text.Cell(", "), words.Figure(v.Incidents, "incident"))
	} else {
		line.Add(text.Cell(""))
	}
	if v.Domain == "" && v.Path == "" {
		return line
	}
	return text.Newf("%v|: |`%v`",
		line, words.Where(apiclient.Attack{Method: v.Method, Domain: v.Domain, Path: v.Path}))
}

// incidentsBack is how far back an issue's incidents are listed.
const incidentsBack = 30 * 24 * time.Hour

// vulnShown is an issue with its incidents, for programs.
type vulnShown struct {
	Vulnerability *apiclient.Vulnerability `json:"vulnerability"` // nil: not known
	Incidents     []call.AttackRow         `json:"incidents"`     // nil: not known
}

// vulnTyped is the id of the issue that the line is about; "": it is about many.
func vulnTyped(c *call.Call) string {
	if len(c.Line.Words) == 0 || c.Line.Words[0] == allVulns {
		return ""
	}
	return c.Line.Words[0]
}

func vulnNeeds(c *call.Call) call.Needs {
	switch {
	case vulnTyped(c) != "":
		return call.Needs{
			Vulnerabilities: call.AllVulnerabilities,
			Attacks:         apiclient.AttackFilter{From: c.Now.Add(-incidentsBack), IncidentsOnly: true},
		}
	case len(c.Line.Words) > 0:
		return call.Needs{Vulnerabilities: call.AllVulnerabilities}
	}
	return call.Needs{Vulnerabilities: call.OpenVulnerabilities}
}

// incidentNeeds are the ways to the cards of an issue's incidents.
func incidentNeeds(c *call.Call) (n call.Needs) {
	typed := vulnTyped(c)
	if typed == "" || c.Actor.Via == record.ViaCLI { // a terminal opens nothing, and must not wait for Slack
		return n
	}
	_, attacks := vulnOf(c, typed)
	for _, a := range attacks[:min(call.LongList, len(attacks))] {
		n.CardLinks = append(n.CardLinks, record.AttackID(c.Account.Name, a.ID))
	}
	return n
}

// vulnOf is the issue with that id, or the one that the console shows, and its incidents; nil: it isn't known.
func vulnOf(c *call.Call, typed string) (issue *apiclient.Vulnerability, incidents []apiclient.Attack) {
	issues, id := c.Facts.Vulnerabilities.Value, typed
	if i := slices.IndexFunc(issues, func(v apiclient.Vulnerability) bool {
		return v.ID == typed || strings.EqualFold(v.WID, typed)
	}); i >= 0 {
		id, issue = issues[i].ID, &issues[i]
	}
	for _, a := range c.Facts.Attacks.Value {
		if a.VulnID == id {
			incidents = append(incidents, a)
		}
	}
	return issue, incidents
}

// readVuln shows one issue with its incidents, by its id or the one that the console shows. Of the two listings one may
// be unknown.
func readVuln(c *call.Call) (res call.Result, err error) {
	typed := vulnTyped(c)
	_, noIssues := c.Facts.Vulnerabilities.Get()
	_, noAttacks := c.Facts.Attacks.Get()
	if noIssues != nil && noAttacks != nil {
		return res, refusal.FromService(noIssues)
	}
	issue, attacks := vulnOf(c, typed)
	shown := vulnShown{Vulnerability: issue}
	lines := text.Lines{text.Newf("*%v*: `%v`, an issue of which nothing else is known%v",
		c.Account.Name, typed, because(c, noIssues))}
	if issue != nil {
		lines = append(text.Lines{text.Lead(c.Account.Name, ": ", vulnLine(*issue))}, vulnDetails(*issue)...)
	}
	if issue == nil && len(attacks) == 0 && noIssues == nil && noAttacks == nil {
		return res, refusal.Usage("Unknown security issue: `%v`. `vulns all` lists them", typed)
	}
	if noAttacks != nil {
		lines.Add("Its incidents are unknown", because(c, noAttacks))
		return call.Result{Account: c.Account.Name, Data: shown, Lines: lines}, nil
	}
	return vulnIncidents(c, shown, lines, attacks)
}

// because is why something is unknown, to go behind the words that say so.
func because(c *call.Call, err error) text.Text {
	if err == nil {
		return nil
	}
	words, _ := call.ForPeople(c.Invocation, refusal.FromService(err))
	return text.New(": ", words)
}

// vulnDetails are what the listing has no room for.
func vulnDetails(v apiclient.Vulnerability) (lines text.Lines) {
	given := func(word string) string { return cmp.Or(text.Field(word), "unknown") }
	lines.Addf("Found by %v, target %v, in the console %v%v", given(strings.ToLower(v.DetectionMethod)), given(v.Target),
		given(v.WID), words.Part(apiclient.Attack{Parameter: v.Parameter}))
	for _, words := range []string{v.Description, v.Additional} {
		if words != "" {
			lines.Add(text.Sanitize(words, text.MaxPath))
		}
	}
	return lines
}

// vulnIncidents adds the issue's incidents, the newest first, each with its attack's id and the way to its card.
func vulnIncidents(c *call.Call, shown vulnShown, lines text.Lines, attacks []apiclient.Attack) (call.Result, error) {
	links := c.Facts.CardLinks.Value
	shown.Incidents = []call.AttackRow{}
	for _, a := range attacks {
		row := c.AttackRow(a, record.Triage{})
		row.Card = links[row.ID]
		shown.Incidents = append(shown.Incidents, row)
	}
	lines.Add(text.Count(len(attacks), "incident"), " in the last ", text.Duration(incidentsBack),
		olderIncidents(shown.Vulnerability, int64(len(attacks))))
	pages := call.Pages(c, 1)
	lines = append(lines, pages.Table(words.AttackTitles(), len(attacks), func(i int) text.Text {
		return words.AttackWithCard(c.Account, attacks[i], c.Now, words.CardLink(shown.Incidents[i].Card))
	})...)
	return pages.Finish(call.Result{Account: c.Account.Name, Data: shown, Lines: lines})
}

// olderIncidents says how many incidents of an issue there are beside those that were listed.
func olderIncidents(v *apiclient.Vulnerability, listed int64) text.Text {
	switch {
	case v == nil || !v.Incidents.Known:
		return text.Newf("; whether there are older ones is unknown: `incidents since=90d` lists all")
	case v.Incidents.N > listed:
		return text.Newf("; %v more, says the service: `incidents since=90d` lists all", v.Incidents.N-listed)
	}
	return nil
}
