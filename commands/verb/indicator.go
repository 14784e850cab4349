package verb

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxRegex is how long an indicator's regular expression may be, in bytes.
const maxRegex = 500

// readHeader takes a header's name as the service writes it: in capitals.
func readHeader(value string, _ *config.Account) (string, error) {
	point, err := apiclient.ParsePoint(apiclient.Point{{"header", value}}.String())
	if err != nil {
		return "", refusal.Invalid("header", value, "User-Agent")
	}
	name := fmt.Sprint(point[0][1])
	if name == "HOST" {
		return "", refusal.Invalid("header", value, "User-Agent", "Every request has a Host: name another header, and the host by ", text.Code("host="))
	}
	return name, nil
}

func readPath(value string, _ *config.Account) (string, error) {
	path, err := apiclient.CleanPath(value)
	if err == nil {
		_, err = apiclient.ParsePath(path)
	}
	if err != nil {
		return "", refusal.Invalid("path", value, "/login", text.Sanitize(err.Error(), 300))
	}
	return value, nil // the plan says what it comes to
}

func readHost(value string, _ *config.Account) (string, error) { return strings.ToLower(value), nil }

func readRegex(value string, _ *config.Account) (string, error) {
	if len(value) > maxRegex {
		return "", refusal.Usage("Invalid regular expression: over %v bytes long", maxRegex)
	}
	if _, err := scanRegex(value); err != nil {
		return "", refusal.Invalid("regular expression", value, "sqlmap/1[.][0-9]", text.Sanitize(err.Error(), 200))
	}
	return value, nil
}

func planIndicator(c *call.Call) ([]call.Plan, error) {
	header, regex, keys := c.Line.Words[0], c.Line.Words[1], c.Line.Keys
	length, err := change.Length(c, keys["for"], c.Policy.IndicatorFor())
	if err != nil {
		return nil, err
	}
	if keys["host"] == "" {
		approval.Need(c, config.ApproveRulesEverywhere, text.Newf("without `host=` it holds for every host"))
	}
	scope, warnings, err := change.Place(keys["host"], keys["path"])
	if err != nil {
		return nil, change.Unsaid(err)
	}
	conditions, err := apiclient.ScopeConditions(scope)
	if err != nil {
		return nil, change.Unsaid(err)
	}
	rule := apiclient.Rule{Type: apiclient.RuleRegex, Conditions: conditions, Point: apiclient.Point{{"header", header}}, Regex: regex, AttackType: change.MarkScanner}
	verb := "Take for a scanner"
	if keys["type"] == change.MarkPatch {
		rule.AttackType, verb = change.MarkPatch, "Block"
	}
	what := fmt.Sprintf("requests %s whose %s matches %s", words.Scope(c.Account, conditions), header,
		text.Sanitize(regex, text.MaxPath))
	line := record.Line{Name: "indicator", Words: c.Line.Words}.With("type", rule.AttackType).With("host", scope.Host).With("path", apiclient.EncodePath(scope.Path))
	p := change.ForTime(c, line, verb+" "+what, length)
	p.Warnings, p.Notes = indicatorEffect(c, header, regex, rule.AttackType)
	p.Warnings = append(p.Warnings, warnings...)
	p.Notes = append(p.Notes, change.PathNotes(scope)...)
	change.WarnCannotBlock(c, &p, nil)
	return one(change.PlanRule(c, p, rule, what+": there is an indicator"))
}

// indicatorEffect says what an indicator does to the requests that match, and which usual ones do. It warns where these
// do. Where wafbot can't know, another person must agree: every browser sends Accept or Cookie, too.
func indicatorEffect(c *call.Call, header, regex, mark string) (ws []refusal.Warning, notes text.Lines) {
	if mark == change.MarkPatch {
		ws = append(ws, refusal.Warn("it blocks what matches in every mode but off"))
	} else {
		notes.Add("What matches is blocked only where the mode blocks")
	}
	match := tryRegex(regex)
	if match == nil {
		ws = append(ws, refusal.Warn("wafbot can't try it on usual browsers and search engines: only the service "+
			"understands it"))
		approval.Need(c, config.ApproveIndicatorUntried, text.New("nobody has tried whom it hits"))
		return ws, notes
	}
	words, broad := trial(header, match)
	if header != userAgent {
		approval.Need(c, config.ApproveIndicatorUntried, text.New("nobody has tried whom it hits"))
	}
	if broad || header != userAgent {
		return append(ws, refusal.Warning{Text: words}), notes
	}
	return ws, append(notes, words)
}

// userAgent is the one header whose usual values wafbot knows.
const userAgent = "USER-AGENT"

// browser is a usual client, which an indicator should rarely hit.
type browser struct{ name, agent string }

// usualBrowsers are the ones that most people and the search engines come with.
func usualBrowsers() []browser {
	const (
		windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64"
		mac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7"
		webkit  = ") AppleWebKit/537.36 (KHTML, like Gecko) "
		chrome  = webkit + "Chrome/150.0.0.0 Safari/537.36"
		iphone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
	)
	return []browser{
		{"Chrome on Windows", windows + chrome},
		{"Edge on Windows", windows + chrome + " Edg/150.0.0.0"},
		{"Firefox on Windows", windows + "; rv:150.0) Gecko/20100101 Firefox/150.0"},
		{"Chrome on macOS", mac + chrome},
		{"Safari on macOS", mac + ") AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15"},
		{"Chrome on Linux", "Mozilla/5.0 (X11; Linux x86_64" + chrome},
		{"Firefox on Linux", "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0"},
		{"Chrome on Android", "Mozilla/5.0 (Linux; Android 10; K" + webkit + "Chrome/150.0.0.0 Mobile Safari/537.36"},
		{"Firefox on Android", "Mozilla/5.0 (Android 16; Mobile; rv:150.0) Gecko/150.0 Firefox/150.0"},
		{"Safari on iOS", iphone + "Version/26.0 Mobile/15E148 Safari/604.1"},
		{"Googlebot", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
		{"bingbot", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"},
	}
}

// trial says what a regular expression matches of what comes every day, and whether it matches any of it. Of a header
// other than User-Agent wafbot knows no usual values: there it only says how broad the expression is.
func trial(header string, match func(string) bool) (words text.Text, broad bool) {
	var hits []string
	browsers := usualBrowsers()
	for _, b := range browsers {
		if match(b.agent) {
			hits = append(hits, b.name)
		}
	}
	empty := match("") // also an empty header
	subject, who := text.New("it would hit "), fmt.Sprintf("%d usual browsers and search engines", len(browsers))
	if header != userAgent {
		subject = text.Newf("wafbot knows no usual values of `%v`, and tried it on the User-Agents of browsers and search engines: it matches ", header)
		who = fmt.Sprint(len(browsers))
	}
	switch {
	case empty && len(hits) == len(browsers):
		return text.Newf("it matches *everything*, even an empty header"), true
	case empty && len(hits) == 0:
		return text.Newf("%van empty %v, and none of %v", subject, header, who), true
	case len(hits) == 0:
		return text.New(subject, "none of ", who), false
	}
	found := text.Newf("%v*%v of %v*, as %v", subject, len(hits), who, hits[0])
	if empty {
		found.Add(", and an empty header")
	}
	return found, true
}
