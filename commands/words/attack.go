package words

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Attack is an attack in one line, what its attacker wrote last.
func Attack(a *config.Account, attack apiclient.Attack, now time.Time) text.Text {
	return AttackWithCard(a, attack, now, nil)
}

// AttackWithCard is an attack in one line, with the way to its card where nothing is ever cut.
func AttackWithCard(a *config.Account, attack apiclient.Attack, now time.Time, card text.Text) text.Text {
	return text.Newf("`%v`| |%v%v| on |%v|, |*%v*|, |%v|, |%v|, last hit |%v|: |`%v`",
		record.AttackID(a.Name, attack.ID), card, kind(attack), a.AppName(attack.App), StatusName(attack),
		Figure(attack.Hits, "hit"), Figure(attack.SourceCount, "source"), Ago(attack.Last, now), Where(attack))
}

// AttackMeant says which attack something is about, and not how it stands.
func AttackMeant(a *config.Account, attack apiclient.Attack) text.Text {
	return text.Newf("`%v` %v on %v: `%v`",
		record.AttackID(a.Name, attack.ID), kind(attack), a.AppName(attack.App), Where(attack))
}

func kind(attack apiclient.Attack) text.Text {
	switch name := TypeName(text.Field(attack.Type)); {
	case record.IsStorm(attack.ID): // who has all its facts says more: StormLine
		return text.Newf("*Storm* of attacks")
	case attack.Incident():
		return text.Newf("*INCIDENT* %v", name)
	default:
		return text.New(name)
	}
}

// AttackTitles are the titles of the columns of Attack.
func AttackTitles() []string {
	return []string{"ID", "TYPE", "APPLICATION", "STATUS", "HITS", "SOURCES", "LAST HIT", "WHERE"}
}

// Where is what an attack hits: METHOD host/path.
func Where(a apiclient.Attack) string {
	host, path := text.Sanitize(a.Domain, text.MaxHost), text.Sanitize(a.Path, text.MaxPath)
	if path == apiclient.SeveralPaths {
		path = "/… (several paths)"
	}
	return strings.TrimSpace(text.Sanitize(a.Method, 10) + " " + cmp.Or(host, "unknown host") + path)
}

// partKinds are parts of requests that have a name, in words.
var partKinds = map[any]string{"get": "field", "form_urlencoded": "field", "hash": "field", "header": "header"}

// Part is the field or other part of a request that an attack is in, to go behind Where; nil: unknown.
func Part(a apiclient.Attack) text.Text {
	point, ok := apiclient.ParameterPoint(a.Parameter)
	kind, name := "field", text.Field(a.Parameter)
	if ok {
		kind, name = part(point)
	}
	if name == "" {
		return nil
	}
	return text.Newf(", %v `%v`", kind, name)
}

// PartName is the part of a request that a rule is for: "field login".
func PartName(p apiclient.Point) string {
	kind, name := part(p)
	return kind + " " + name
}

func part(p apiclient.Point) (kind, name string) {
	if len(p) > 0 {
		last := p[len(p)-1]
		if kind := partKinds[last[0]]; kind != "" {
			return kind, text.Field(fmt.Sprint(last[1]))
		}
	}
	return "part", text.Field(p.String())
}

// StatusName is the blocking status for people; an unknown one is shown as the service wrote it.
func StatusName(a apiclient.Attack) string {
	status := a.Status()
	if status == apiclient.StatusUnknown && a.BlockStatus != "" && !strings.EqualFold(a.BlockStatus, "unknown") {
		return "blocking: " + text.Field(a.BlockStatus)
	}
	return StatusWords[status]
}

// Ago is how long ago something was, "unknown" for a zero time.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	d := now.Sub(t)
	switch {
	case d < time.Second:
		return "just now"
	case d > time.Minute:
		d = d.Truncate(time.Minute)
	}
	return text.Duration(d) + " ago"
}

// WorstFirst orders attacks: incidents, then what gets through, then by hits.
func WorstFirst(x, y apiclient.Attack) int {
	return cmp.Or(urgency(y)-urgency(x), cmp.Compare(y.Hits.N, x.Hits.N))
}

// urgency orders attacks: incidents first, then what gets through.
func urgency(a apiclient.Attack) int {
	n := map[apiclient.Status]int{apiclient.StatusNotBlocked: 3, apiclient.StatusPartly: 2,
		apiclient.StatusUnknown: 1}[a.Status()]
	if a.Incident() {
		n += 4
	}
	return n
}

// KindName is an incident or an attack, where that is what matters most.
func KindName(a apiclient.Attack) string {
	if a.Incident() {
		return "INCIDENT"
	}
	return "ATTACK"
}

// CardLink opens a card; nothing where there is none.
func CardLink(url string) text.Text {
	if url == "" {
		return nil
	}
	return text.New(text.Link{Label: "card", URL: url}, " ")
}

// typeNames are attack types in words.
var typeNames = map[string]string{
	"sqli": "SQL injection", "xss": "cross-site scripting", "rce": "remote code execution", "xxe": "XML external entity",
	"ptrav": "path traversal",
	"crlf":  "CRLF injection", "redir": "open redirect", "nosqli": "NoSQL injection", "ldapi": "LDAP injection",
	"scanner":         "scanner",
	"mass_assignment": "mass assignment", "ssrf": "server-side request forgery", "ssi": "server-side include",
	"mail_injection": "mail injection",
	"ssti":           "template injection", "invalid_xml": "invalid XML", "brute": "brute force",
	"bola": "broken object authorisation", "dirbust": "forced browsing",
	"api_abuse": "API abuse", "credential_stuffing": "credential stuffing", apiclient.TypeBlockedSource: "denied source",
	apiclient.TypeVirtualPatch: "virtual patch",
}

// TypeName is an attack type in words.
func TypeName(t string) string { return cmp.Or(typeNames[t], t, "attack of unknown type") }

// Types are the attack types that wafbot has words for. The service may have others.
func Types() []string { return slices.Sorted(maps.Keys(typeNames)) }

// Share is how many percent of an attack's hits came from a source, if the service lists both. A source that isn't all
// of it is never 100.
func Share(s apiclient.Source, a apiclient.Attack) (percent int, ok bool) {
	if !s.Hits.Known || !a.Hits.Known || a.Hits.N <= 0 || s.Hits.N < 0 {
		return 0, false
	}
	if s.Hits.N >= a.Hits.N {
		return 100, true
	}
	return int(min(99, math.Round(100*float64(s.Hits.N)/float64(a.Hits.N)))), true
}

// Percent is a share for people.
func Percent(percent int) string {
	if percent == 0 {
		return "under 1 %"
	}
	return fmt.Sprintf("%d %%", percent)
}

// Severity is the service's threat score, 0 to 100, in a word.
func Severity(threat apiclient.Figure) string {
	word := "low"
	switch {
	case !threat.Known:
		return "severity unknown"
	case threat.N >= 70:
		word = "high"
	case threat.N >= 40:
		word = "medium"
	}
	return fmt.Sprintf("%s (threat %d)", word, threat.N)
}

// maxAnswers is how many codes of answers are listed.
const maxAnswers = 10

// Answers are what the application answered an attack's hits with.
func Answers(a apiclient.Attack) text.Text {
	if len(a.StatusCodes) == 0 {
		return text.New("answers unknown")
	}
	return text.New("answered ", text.Enumerate(a.StatusCodes, maxAnswers,
		func(code int) text.Text { return text.New(code) }))
}

// Figure is a count with its noun.
func Figure(f apiclient.Figure, noun string) string { return f.String() + " " + text.Plural(f.N, noun) }
