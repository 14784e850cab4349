package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// Requests that change something at the service.
const (
	deleteEntry = "DELETE /v4/ip_rules"
	createRule  = "POST /v1/objects/hint/create"
	deleteRule  = "POST /v1/objects/hint/delete"
)

// lineCase is a line of the grammar: who may, what it sends, says and records. In braces stand {ip}, {n} and {attack}:
// each time another one; {change}, {rule}, {entry}: what the line before made.
type lineCase struct {
	line   string
	least  record.Role
	before string   // a line that an admin types first
	first  string   // a line that the one who asks types first, in the same way
	sends  []string // to the service, in this order; none: it changes nothing there
	body   []string // parts of what is sent
	says   []string // parts of the answer
	record string   // the outcome in the audit log; "": reads are not recorded
	after  string   // a line that an admin types then, so that the next one finds the world as it was
	form   bool     // it is tried as a form, too
	two    bool     // by default it needs a second person
}

func everyLine() []lineCase {
	const viewer, responder, admin = record.Viewer, record.Responder, record.Admin
	read := func(line string, says ...string) lineCase { return lineCase{line: line, least: viewer, says: says} }
	write := func(line string, says ...string) lineCase {
		return lineCase{line: line, least: responder, says: says, record: "done"}
	}
	deny := "deny {ip} for=1h"
	return []lineCase{
		read("status", "Status of acme"), read("incidents", "incident"), read("attacks since=1h", "in the last 1 h"), read("attack {attack}", "SQL injection · Shop", "Sources:"),
		read("summary since=12h", "Hand-over of acme: the last 12 h", "What happened:"),
		read("vulns", "acme:"), read("vulns all", "acme:"), read("vulns 1001", "Found by scanner"), read("trends", "acme: attacks per day"), read("trends since=1d", "acme: attacks per day"), read("lists", "entr"), read("lists black", "entr"), read("rules", "rule"), read("conditions", "condition"),
		read("mode Shop", "Mode of Shop by rules: monitoring"), read("mode account", "Mode of all applications without a mode of their own by rules: monitoring (the account's"), read("explain attack={attack}", "It isn't muted"), read("audit", "acme:"),
		read("attacks storm=s1234567", "Unknown storm: s1234567"),
		read("report attack={attack}", "What happened", "Still in place", "What is not known"),
		read("whoami", "wafbot is live"), read("help", "deny"), read("help deny", "denylist"),

		{line: "deny {ip} for=1h", least: responder, sends: []string{addEntry}, body: []string{`"list":"black"`, "{ip}/32", `"force":false`}, says: []string{"Deny {ip} everywhere for 1 h: accepted"}, record: "done", form: true},
		{line: "block {ip}", least: responder, sends: []string{addEntry}, body: []string{`"list":"black"`}, says: []string{"Deny {ip} everywhere for 4 h: accepted"}, record: "done"},
		{line: "deny attack={attack}", least: responder, sends: []string{addEntry}, body: []string{`"list":"black"`, "{attack}"}, says: []string{"everywhere for 4 h: accepted"}, record: "done"},
		{line: "deny country:FR app=Shop", least: responder, sends: []string{addEntry}, body: []string{`"rule_type":"country"`, `"source_values":["FR"]`, `"pools":[4]`}, says: []string{"Deny country:FR"}, record: "done", after: "remove country:FR", form: true, two: true},
		{line: "deny proxy:TOR", least: responder, sends: []string{addEntry}, body: []string{`"rule_type":"proxy_type"`, `"source_values":["TOR"]`}, says: []string{"Deny proxy:TOR"}, record: "done", after: "remove proxy:TOR", form: true, two: true},
		{line: "deny datacenter:aws", least: responder, sends: []string{addEntry}, body: []string{`"rule_type":"datacenter"`, `"source_values":["aws"]`}, says: []string{"Deny datacenter:aws"}, record: "done", after: "remove datacenter:aws", form: true, two: true},
		{line: "gray {ip}", least: responder, sends: []string{addEntry}, body: []string{`"list":"gray"`}, says: []string{"Graylist {ip} everywhere for 24 h: accepted"}, record: "done", form: true},
		{line: "allow {ip}", least: admin, sends: []string{addEntry}, body: []string{`"list":"white"`}, says: []string{"Allow {ip} everywhere for 1 h: accepted"}, record: "done", form: true, two: true},
		{line: "remove {ip}", least: responder, before: deny, sends: []string{deleteEntry}, says: []string{"Take {ip} off the denylist"}, record: "done", form: true},
		{line: "unban {ip} list=black", least: responder, before: deny, sends: []string{deleteEntry}, says: []string{"Take {ip} off the denylist"}, record: "done"},
		{line: "contain attack={attack}", least: responder, sends: []string{addEntry, createRule}, body: []string{`"list":"black"`, `"type":"vpatch"`}, says: []string{"Deny ", "Patch exactly POST shop.example.com/login{n}"}, record: "done"},
		{line: "patch attack={attack}", least: responder, sends: []string{createRule}, body: []string{`"type":"vpatch"`, `"attack_type":"sqli"`}, says: []string{"Patch exactly POST shop.example.com/login{n}", "SQL injection only for 7 days"}, record: "done"},
		{line: "patch GET shop.example.com/p{n} type=xss part=get.q", least: responder, sends: []string{createRule}, body: []string{`"attack_type":"xss"`, `["get","q"]`, "p{n}"}, says: []string{"Patch exactly GET shop.example.com/p{n}"}, record: "done", form: true},
		{line: "patch POST /e{n}/** type=xss part=get.q app=Shop", least: responder, sends: []string{createRule}, body: []string{`["path",0]`, `"value":"e{n}"`, `["instance"]`}, says: []string{"Patch POST to every path below /e{n}/ on every host, Shop only"}, record: "done", form: true, two: true},
		{line: "patch shop.example.com/y{n}/*.* type=any part=header.HOST for=1h", least: admin, sends: []string{createRule}, body: []string{`"attack_type":"any"`, "y{n}"}, says: []string{"Block every path one level below /y{n}/ on shop.example.com, on every application for 1 h"}, record: "done", form: true, two: true},
		{line: "block-path POST /h{n} for=30m", least: admin, sends: []string{createRule}, body: []string{`"attack_type":"any"`, "h{n}"}, says: []string{"Block POST /h{n} on every host, on every application for 30 min"}, record: "done", form: true, two: true},
		{line: "indicator User-Agent scan{n} path=/i{n}/**/*.*", least: responder, sends: []string{createRule}, body: []string{`"type":"regex"`, "i{n}"}, says: []string{"path begins /i{n}/", "for 4 h"}, record: "done", form: true, two: true},
		{line: "block-path POST shop.example.com/c{n} for=30m", least: admin, sends: []string{createRule}, body: []string{`"attack_type":"any"`, `["header","HOST"]`, "c{n}"}, says: []string{"Block POST shop.example.com/c{n}", "for 30 min"}, record: "done", form: true, two: true},
		{line: "indicator User-Agent scan{n} host=shop.example.com", least: responder, sends: []string{createRule}, body: []string{`"type":"regex"`, `"regex":"scan{n}"`, `"attack_type":"scanner"`}, says: []string{"scan{n}", "for 4 h"}, record: "done", form: true},
		{line: "mode Shop block for=1h", least: responder, sends: []string{createRule, deleteRule}, body: []string{`"type":"service_mode"`, `"mode":"block"`}, says: []string{"Switch Shop to block for 1 h: accepted"}, record: "done", after: "undo {change}", form: true},
		{line: "mode Shop off", least: admin, sends: []string{createRule, deleteRule}, body: []string{`"mode":"off"`}, says: []string{"Switch Shop to off for 30 min: accepted"}, record: "done", after: "undo {change}", form: true, two: true},
		{line: "mode account block for=1h", least: responder, sends: []string{createRule, deleteRule}, body: []string{`"mode":"block"`, `"action":[]`}, says: []string{"Switch all applications without a mode of their own to block for 1 h: accepted"}, record: "done", after: "undo {change}", form: true, two: true},
		{line: "delete-rule {rule}", least: admin, before: "patch GET shop.example.com/u{n} type=xss part=get.q", sends: []string{deleteRule}, body: []string{"{rule}"}, says: []string{"{rule}", "accepted"}, record: "done", form: true},
		{line: "undo {change}", least: responder, before: deny, sends: []string{deleteEntry}, says: []string{"Undo of: Deny {ip}"}, record: "done"},
		{line: "undo attack={attack}", least: responder, before: "deny {ip} for=1h attack={attack}", sends: []string{deleteEntry}, says: []string{"Undo of: Deny {ip}"}, record: "done"},
		{line: "undo by=@me since=1h attack={attack}", least: responder, first: "deny {ip} for=1h attack={attack}", sends: []string{deleteEntry}, says: []string{"Undo of: Deny {ip}"}, record: "done"},
		{line: "extend {change} for=2h", least: responder, before: deny, sends: []string{addEntry}, body: []string{`"force":true`, "{ip}/32"}, says: []string{"{ip}", "accepted"}, record: "done", form: true},
		{line: "approve r1234567", least: responder, says: []string{"Unknown request: r1234567, on acme"}, record: "refused"},
		{line: "reject r1234567 reason=no", least: responder, says: []string{"Unknown request: r1234567, on acme"}, record: "refused"},
		{line: "override r1234567 reason=\"no answer\"", least: responder, says: []string{"Unknown request: r1234567, on acme"}, record: "refused"},

		write("ack attack={attack}", "is on it since"),
		write("claim attack={attack}", "is on it since"),
		{line: "unack attack={attack}", least: responder, first: "ack attack={attack}", says: []string{"Unacknowledged now"}, record: "done"},
		write("handover to=U0ANN0001 attack={attack} \"note {n}\"", "Anna Weber is on it since"),
		{line: "handover --all to=U0ANN0001", least: responder, first: "handover --all to=U0ROB0002", says: []string{"Anna Weber is on ", "of acme"}, record: "done"},
		write("note attack={attack} \"note {n}\"", "note {n}"), write("verdict false_positive attack={attack}", "Verdict: false positive"),
		write("mute source={ip} for=1h", "Muted: source={ip}"), write("mute attack={attack}", "Muted: attack={attack}"), write("mute type=xss app=7", "type=xss app=7"),
		{line: "drill", least: responder, before: "drill", says: []string{"A drill waits for its acknowledgements", "nobody has acknowledged it yet"}, record: "nothing"},
		{line: "unmute source={ip}", least: responder, before: "mute source={ip}", says: []string{"No longer muted: source={ip}"}, record: "done"},

		{line: "protect {ip} name=office", least: admin, says: []string{"Protected: {ip} office, never denied"}, record: "done", form: true},
		{line: "unprotect {ip}", least: admin, before: "protect {ip}", says: []string{"No longer protected: {ip}"}, record: "done", form: true},
		read("sources", "Sources that are never denied, or only with approval, on acme", "private addresses"),
	}
}

// person is a user who asks, with a role.
type person struct {
	name string
	role record.Role
}

// way is how a line comes.
type way struct {
	via    string
	people []person
	ask    func(p person, line string) (answer, trail string)
}

func TestEveryLine(t *testing.T) {
	full.Only(t)
	t.Parallel()
	together := func(w *world) {
		w.cfg.Policy.Approval.RequiredFor = nil         // what needs approval waits; here everything is done
		w.cfg.Policy.Responders = []string{"S0WAFRESP"} // which Rob is in
		unpaced(w)
	}
	playOver(t, aRedis(t), workspace.IngressEither, together, func(t *testing.T, w *world) {
		l := &liner{world: w, refused: map[string]int{}}
		slack := []person{{"eve", record.NoRole}, {"vic", record.Viewer}, {"rob", record.Responder}, {"ann", record.Admin}}
		ways := []way{
			{"slash", slack, func(p person, line string) (string, string) { return l.inSlack(p, func() { w.types(p.name, line) }) }},
			{"mention", slack, func(p person, line string) (string, string) {
				return l.inSlack(p, func() { w.writes(p.name, "#waf", "", "@wafbot "+line) })
			}},
			{"cli", slack[1:], l.atTheTerminal},
			{"form", slack, l.inAForm},
		}
		named := map[string]bool{}
		for _, c := range everyLine() {
			verb, _, _ := strings.Cut(c.line, " ")
			named[verb] = true
			for _, v := range ways {
				if v.via == "form" && !c.form {
					continue
				}
				for _, p := range v.people { // who just may, and who just may not
					if p.role == c.least || p.role == c.least-1 {
						l.try(c, v, p)
					}
				}
			}
		}
		help, _ := l.inSlack(slack[3], func() { w.types("ann", "help all") })
		verbs := 0
		for _, m := range regexp.MustCompile("(?m)^([a-z]+)").FindAllStringSubmatch(help, -1) {
			if _, err := verb.Help(m[1]); err == nil {
				verbs++
				require.True(t, named[m[1]], "%s has no line in this table", m[1])
			}
		}
		require.Greater(t, verbs, 30)
	})
}

// liner tries lines in one world.
type liner struct {
	*world
	n       int
	refused map[string]int // how often each person was
	audited string         // the last entry of a line at the terminal that was not done
}

// surelyRecorded is how many refusals of a person are recorded and answered in any case, and not only counted;
// surelyAnswered is how many are of one with a role.
const (
	surelyRecorded = 3
	surelyAnswered = 10
)

// restartsBefore starts the bot again before it would only count what a person is refused.
func (l *liner) restartsBefore(p person) {
	most := surelyAnswered
	if p.role == record.NoRole {
		most = surelyRecorded
	}
	if l.refused[p.name] >= most {
		l.stop()
		l.start()
		clear(l.refused)
	}
}

// try holds one line, asked by one person in one way, against its row.
func (l *liner) try(c lineCase, v way, p person) {
	l.t.Helper()
	l.restartsBefore(p)
	words := l.words(c, p)
	name := fmt.Sprintf("%s by %s of role %s", fill(c.line, words), v.via, p.role)
	if c.first != "" && p.role >= c.least {
		v.ask(p, fill(c.first, words))
	}
	begun, heard := time.Now(), len(l.journal.String())
	answer, trail := v.ask(p, fill(c.line, words))
	if trail == "" {
		trail = l.journal.String()[heard:]
	}
	requests := slices.DeleteFunc(l.sent(), func(r waf.Request) bool { return r.Time.Before(begun) })
	var bodies string
	var did []string
	for _, r := range requests {
		did = append(did, r.Method+" "+r.Path)
		bodies += r.Body + "\n"
	}
	if p.role < c.least {
		want := fmt.Sprintf("needs the role %s; yours is %s", c.least, p.role)
		switch {
		case p.role == record.NoRole:
			want = "You have no role here"
		case v.via == "form":
			want = "needs the role" // of the person who fills in such a form, or of what it was filled in with
		}
		require.Contains(l.t, answer, want, name)
		require.Empty(l.t, did, name)
		if l.refused[p.name]++; l.refused[p.name] > surelyRecorded {
			return
		}
		require.Contains(l.t, trail, `"outcome":"refused"`, name)
		if v.via != "form" { // he gets none: what he typed for it is refused
			require.Contains(l.t, trail, `"via":"`+v.via+`"`, name)
		}
		return
	}
	for _, part := range c.says {
		require.Contains(l.t, answer, fill(part, words), name)
	}
	require.Equal(l.t, c.sends, did, "%s: %s", name, answer)
	for _, part := range c.body {
		require.Contains(l.t, bodies, fill(part, words), name)
	}
	if c.record == "" {
		require.NotContains(l.t, trail, `"audit"`, name)
	} else {
		require.Contains(l.t, trail, `"outcome":"`+c.record+`"`, name)
		require.Contains(l.t, trail, `"via":"`+v.via+`"`, name)
	}
	if c.after != "" {
		words["change"] = changeIn(answer)
		l.asAdmin(fill(c.after, words))
	}
}

// words are what stands for what is in braces, this time.
func (l *liner) words(c lineCase, p person) map[string]string {
	l.t.Helper()
	l.n++
	words := map[string]string{"n": fmt.Sprint(l.n), "ip": fmt.Sprintf("198.51.%d.%d", 100+l.n/250, 1+l.n%250)}
	if strings.Contains(c.line, "{attack}") {
		id := l.attack(waf.AttackSpec{
			Path: "/login" + words["n"], Started: waf.Duration(time.Minute), Hits: 3, Sources: []waf.SourceSpec{{IP: words["ip"], PerSecond: 0.01}},
		})
		words["attack"] = record.AttackID("acme", id)
	}
	if c.before != "" && p.role >= c.least {
		words["change"] = changeIn(l.asAdmin(fill(c.before, words)))
		if rules := l.state("acme").Rules; len(rules) > 0 {
			words["rule"] = fmt.Sprint(slices.MaxFunc(rules, func(a, b waf.RuleState) int { return int(a.ID - b.ID) }).ID)
		}
	}
	for _, key := range []string{"change", "rule"} {
		if words[key] == "" {
			words[key] = "c00000000"
		}
	}
	return words
}

func fill(text string, words map[string]string) string {
	for key := range maps.Keys(words) {
		text = strings.ReplaceAll(text, "{"+key+"}", words[key])
	}
	return text
}

// changeIn is the id of the change that an answer names.
func changeIn(answer string) string {
	return regexp.MustCompile(`\bc[0-9a-hjkmnp-tv-z]{8}\b`).FindString(answer)
}

// asAdmin has Ann type a line.
func (l *liner) asAdmin(line string) string {
	l.t.Helper()
	answer, _ := l.inSlack(person{"ann", record.Admin}, func() { l.types("ann", line) })
	return answer
}

// inSlack waits for the answer to a typed line. A question is answered with yes.
func (l *liner) inSlack(p person, ask func()) (answer, trail string) {
	l.t.Helper()
	before := len(l.Slack.Ephemerals(p.name))
	ask()
	l.until("answer to "+p.name, func() bool { return len(l.Slack.Ephemerals(p.name)) > before || l.Slack.OpenView(p.name) != nil })
	if l.Slack.OpenView(p.name) != nil {
		l.confirms(p.name, "Before you do")
	}
	return l.heard(p, before), ""
}

// heard waits for a user's next answer after so many answers. A question is answered with yes.
func (l *liner) heard(p person, before int) string {
	l.t.Helper()
	asks := func(m workspace.Message) bool {
		return slices.ContainsFunc(m.Buttons(), func(b blockkit.Button) bool { return b.Label == "Do it anyway" })
	}
	l.until("answer to "+p.name, func() bool { return len(l.Slack.Ephemerals(p.name)) > before })
	if m := l.Slack.Ephemerals(p.name)[before]; asks(m) {
		l.click(p.name, m, "Do it anyway")
		l.until("answer in its place", func() bool { return !asks(l.Slack.Ephemerals(p.name)[before]) })
	}
	return plain(l.Slack.Ephemerals(p.name)[before])
}

// inAForm types the verb alone, and fills in the form that opens with what the line says.
func (l *liner) inAForm(p person, line string) (answer, trail string) {
	l.t.Helper()
	parsed, err := grammar.Parse(line)
	require.NoError(l.t, err)
	before := len(l.Slack.Ephemerals(p.name))
	l.types(p.name, parsed.Name)
	l.until("a form for "+p.name+", or that he gets none", func() bool {
		v := l.Slack.OpenView(p.name)
		return v != nil && !strings.Contains(v.Plain(), "Loading …") || len(l.Slack.Ephemerals(p.name)) > before
	})
	if l.Slack.OpenView(p.name) == nil {
		return l.heard(p, before), ""
	}
	if v := l.Slack.OpenView(p.name); v.CallbackID != "form" {
		l.leaves(p.name)
		return bare(v.Plain()), ""
	}
	sent := l.submits(p.name, filledIn(l.t, parsed))
	switch v := l.Slack.OpenView(p.name); sent.Outcome {
	case workspace.OutcomePushed:
		if v.CallbackID == "answer" { // what is about no field
			l.leaves(p.name)
			l.leaves(p.name)
			return bare(v.Plain()), ""
		}
		l.confirms(p.name, "Before you do")
	case workspace.OutcomeErrors:
		l.leaves(p.name)
		return strings.Join(slices.Collect(maps.Values(sent.Errors)), " "), ""
	default:
		require.Equal(l.t, workspace.OutcomeCleared, sent.Outcome, "%s: %v", line, sent.Errors)
	}
	return l.heard(p, before), "" // who found no time to look asks afterwards
}

// filledIn is what a line says, by the names of its form's fields.
func filledIn(t testing.TB, line record.Line) map[string]any {
	t.Helper()
	usage, err := verb.Help(line.Name)
	require.NoError(t, err)
	values := map[string]any{}
	for key, value := range line.Keys {
		values[key] = value
	}
	words := line.Words
	for _, object := range regexp.MustCompile(`\b[A-Z]{3,}\b(…?)`).FindAllStringSubmatch(usage[1].String(), -1) {
		if len(words) == 0 {
			break
		}
		name := strings.ToLower(strings.TrimSuffix(object[0], "…"))
		kind, value, broad := strings.Cut(words[0], ":")
		switch {
		case broad:
			name = map[string]string{"country": "countries", "proxy": "proxies", "datacenter": "datacenters"}[kind]
			values[name] = []string{value}
		case object[1] != "" && slices.Contains([]string{"deny", "allow", "gray"}, line.Name):
			values["addresses"] = strings.Join(words, "\n")
		case object[1] != "":
			values[name] = strings.Join(words, " ")
		default:
			values[name] = words[0]
		}
		words = words[1:]
	}
	if app, ok := values["app"].(string); ok && line.Name == "deny" {
		values["app"] = []string{app}
	}
	return values
}

// What needs approval waits, however it was requested, and is done when another person approves it.
func TestEveryLineThatNeedsApproval(t *testing.T) {
	full.Only(t)
	t.Parallel()
	two := func(w *world) {
		w.cfg.Policy.Admins = append(w.cfg.Policy.Admins, "U0VIC0003")
		w.cfg.Policy.Terminal = map[string]config.TerminalUser{osActor().Name: {Role: "admin"}}
		unpaced(w)
	}
	playOver(t, aRedis(t), workspace.IngressEither, two, func(t *testing.T, w *world) {
		l, ann := &liner{world: w, refused: map[string]int{}}, person{"ann", record.Admin}
		ways := map[string]func(line string) string{
			"slash": func(line string) string { answer, _ := l.inSlack(ann, func() { w.types("ann", line) }); return answer },
			"mention": func(line string) string {
				answer, _ := l.inSlack(ann, func() { w.writes("ann", "#waf", "", "@wafbot "+line) })
				return answer
			},
			"form": func(line string) string { answer, _ := l.inAForm(ann, line); return answer },
			"cli": func(line string) string {
				got := typed(t, w.shell("[broad, block_path, allow, mode_off, rules_everywhere]", record.Admin), append(strings.Fields(line), "-y")...)
				require.Equal(t, exitFailed, got.code, "nothing was done yet")
				return got.out + got.err
			},
		}
		for _, c := range everyLine() {
			for via, ask := range ways {
				if !c.two {
					continue
				}
				words := l.words(c, ann)
				line, before := fill(c.line, words), len(w.sent())
				answer := ask(line)
				require.Contains(t, answer, "Waiting for approval", "%s by %s", line, via)
				require.Len(t, w.sent(), before, "%s by %s", line, via)
				id := regexp.MustCompile(`\br[0-9a-hjkmnp-tv-z]{8}\b`).FindString(answer)
				if via != "cli" {
					l.restartsBefore(ann)
					l.refused["ann"]++
					refused, _ := l.inSlack(ann, func() { w.types("ann", "approve "+id) })
					require.Contains(t, refused, "you asked for this yourself: another user has to decide", "%s by %s", line, via)
				}
				answer, _ = l.inSlack(person{"vic", record.Admin}, func() { w.types("vic", "approve "+id) })
				var did []string
				for _, r := range w.sent()[before:] {
					did = append(did, r.Method+" "+r.Path)
				}
				require.Equal(t, c.sends, did, "%s by %s: %s", line, via, answer)
				require.True(t, w.journal.has(`"outcome":"done"`, `"approved":{`, "U0VIC0003", id), "%s by %s", line, via)
				if c.after != "" {
					words["change"] = changeIn(answer)
					l.asAdmin(fill(c.after, words))
				}
			}
		}
	})
}

func plain(m workspace.Message) string { return bare(m.Plain()) }

// bare is a text without what is bold or code in it.
func bare(text string) string { return marks.Replace(text) }

var marks = strings.NewReplacer("*", "", "`", "")

// atTheTerminal runs a line in the shell of a user with that role.
func (l *liner) atTheTerminal(p person, line string) (answer, trail string) {
	l.t.Helper()
	parsed, err := grammar.Parse(line)
	require.NoError(l.t, err)
	args := append([]string{parsed.Name}, parsed.Words...)
	for key, value := range parsed.Keys {
		args = append(args, key+"="+value)
	}
	for _, flag := range parsed.Flags {
		args = append(args, "--"+flag)
	}
	env := l.shell("[]", p.role)
	got := typed(l.t, env, append(args, "-y")...)
	require.NotContains(l.t, got.err, `"audit"`, "only serve prints it")
	entries := strings.Split(strings.TrimSpace(typed(l.t, env, "audit", "export", "since=1m").out), "\n")
	if last := entries[len(entries)-1]; last != l.audited && strings.Contains(last, `"via":"cli"`) {
		trail, l.audited = last, last
	}
	return got.out + got.err, trail + " "
}
