package card

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How much of each hostile text a card shows, in visible characters.
const (
	maxVulnID  = 20
	maxTitle   = 120
	maxAddress = 50
	maxCountry = 20
)

// How many sources and notes a card shows.
const (
	maxSources = 3
	maxNotes   = 2
)

// headline says what happens, where, and whether the attack succeeded.
func (c Card) headline() []text.Text {
	a := c.Situation.Attack
	title := []string{kindName(a), typeName(a, text.MaxField), c.appName(text.MaxField), describe.StatusName(a)}
	switch {
	case a.FalsePositive():
		title = append(title, "false positive")
	case c.Quiet:
		title = append(title, "quiet")
	}
	lines := []text.Text{
		text.New(c.sign(), " ", text.Bold(strings.Join(title, " · ")), " ", text.Code(c.Situation.ID)),
		text.New(text.Code(describe.Where(a)), describe.Part(a)),
	}
	if a.Incident() {
		lines = append(lines, c.worked())
	}
	if c.Late > 0 {
		lines = append(lines, text.New(text.Bold("Posted "+lateness(c.Late)+" late"), ": wafbot found it at ", c.clock(c.Found), " and couldn't post it sooner"))
	}
	return lines
}

func kindName(a apiclient.Attack) string {
	if a.Incident() {
		return "INCIDENT"
	}
	return "ATTACK"
}

// lateness is a delay, as exact as it matters.
func lateness(d time.Duration) string {
	if d >= time.Minute {
		d = d.Truncate(time.Minute)
	}
	return text.Duration(d.Truncate(time.Second))
}

// sign is the card's symbol. The words beside it say the same.
func (c Card) sign() string {
	a := c.Situation.Attack
	switch {
	case c.Quiet, a.FalsePositive():
		return "⚪"
	case a.Incident():
		return "🚨"
	case a.Status() == apiclient.StatusNotBlocked:
		return "🔴"
	case a.Status() == apiclient.StatusPartly:
		return "🟠"
	case a.Status() == apiclient.StatusBlocked:
		return "🟢"
	}
	return "🟡"
}

func (c Card) worked() text.Text {
	a := c.Situation.Attack
	line := text.New(text.Bold("It worked"), ", says the service: vulnerability ", text.Code(text.Sanitize(a.VulnID, maxVulnID)))
	if c.Vuln != "" {
		line = text.New(line, " “", text.Sanitize(c.Vuln, maxTitle), "”")
	}
	return text.New(line, ", ", describe.Severity(a.Threat), ". Assume data was read")
}

// figures are the sources, the hits, since when, and the application's mode.
func (c Card) figures() []text.Text {
	a := c.Situation.Attack
	counts := text.New(describe.Figure(a.Hits, "hit"), ", ", describe.Figure(a.Payloads, "payload"), " since ", c.clock(a.First))
	lines := append([]text.Text{c.sources(), c.aged(counts)}, c.course()...)
	return append(append(lines, c.unrefreshed()...), c.mode())
}

func (c Card) sources() text.Text {
	a := c.Situation.Attack
	sources := slices.DeleteFunc(slices.Clone(a.Sources), func(s apiclient.Source) bool { return !s.IP.IsValid() })
	slices.SortStableFunc(sources, func(x, y apiclient.Source) int { return cmp.Compare(y.Hits.N, x.Hits.N) })
	sources = sources[:min(maxSources, len(sources))]
	var line []any
	for _, s := range sources {
		line = append(line, text.Code(text.Sanitize(s.IP.String(), maxAddress)))
		if own, ok := c.Situation.Policy.SourceOf(s.IP); ok {
			line = append(line, " = ", text.Sanitize(own.Name, text.MaxField), ",")
		}
		if s.Country != "" {
			line = append(line, " ", text.Sanitize(s.Country, maxCountry))
		}
		if percent, ok := describe.Share(s, a); ok {
			line = append(line, " ", describe.Percent(percent))
		}
		line = append(line, " (", s.Hits, ")")
		if more := describe.Elsewhere(c.Situation.Context.Sources[s.IP], a, s.IP); more != "" {
			line = append(line, ", ", more)
		}
		line = append(line, " · ")
	}
	switch rest := a.SourceCount.N - int64(len(sources)); {
	case !a.SourceCount.Known:
		line = append(line, "number of sources unknown")
	case len(sources) == 0:
		line = append(line, a.SourceCount, " sources, none named by the service")
	case rest > 0:
		line = append(line, text.Count(rest, "more source"))
	default:
		line = append(line, "no other source")
	}
	return text.New(line...)
}

// aged are figures with their age, which Slack goes on counting, so that it stays true without an edit.
func (c Card) aged(figures text.Text) text.Text {
	last := c.Situation.Attack.Last
	if c.Quiet {
		return text.New(text.Bold("Quiet since "), timeOr(last, "an unknown time"), " · ", figures, " (sampled)")
	}
	read := ", updated each minute while they change"
	switch _, muted := c.muted(); {
	case muted:
		read = ", not refreshed while it is muted"
	case c.Situation.Attack.FalsePositive():
		read = ", not refreshed while it is a false positive"
	case c.unreachable():
		read = ""
	case c.StaleFor > 0:
		read = ", drawn " + lateness(c.StaleFor) + " late: Slack takes no more edits"
	}
	return text.New(figures, ", last hit ", ago(last), " (sampled; figures read ", ago(c.FiguresAt), read, ")")
}

// unrefreshed says that the figures can't be refreshed.
func (c Card) unrefreshed() []text.Text {
	if !c.unreachable() {
		return nil
	}
	return []text.Text{text.New(text.Bold("These figures can't be refreshed"), " since ", c.clock(c.Outage.From), ": ", c.Outage.Why, ". The attack may have grown")}
}

// unreachable reports whether an outage keeps an active attack's figures from being refreshed.
func (c Card) unreachable() bool { return !c.Outage.From.IsZero() && !c.Quiet }

func (c Card) muted() (record.Mute, bool) {
	return policy.Muted(c.Situation.Context.Mutes, c.Situation.Attack, c.Situation.Now)
}

// clock is a moment by the reader's clock, with its day where that isn't clear.
func (c Card) clock(t time.Time) any {
	if t.IsZero() || c.Situation.Now.Sub(t).Abs() >= sameDay {
		return timeOr(t, "an unknown time")
	}
	return text.Clock(t)
}

// ago is a moment as its age.
func ago(t time.Time) any {
	if t.IsZero() {
		return "at an unknown time"
	}
	return text.Ago(t)
}

func (c Card) mode() text.Text {
	s := c.Situation
	if s.ListsReadAt.IsZero() || !s.Attack.App.Known {
		return text.New("Mode by rules: unknown")
	}
	mode := cmp.Or(describe.ModeByRules(s.Rules, int(s.Attack.App.N)), "inherited, not visible")
	return text.New("Mode by rules: ", text.Sanitize(mode, text.MaxField), " (a node's own setting can override it)")
}

// people shows the owner, the pager, the mute, the verdict and the notes, and mentions whom the route names.
func (c Card) people() []text.Text {
	lines := []text.Text{c.whoIsOnIt()}
	switch {
	case c.Uneditable:
		lines = append(lines, text.New("Reposted: Slack doesn't let the former card be edited any more"))
	case c.Reposted:
		lines = append(lines, text.New("Reposted: the former card is gone"))
	}
	if m, muted := c.muted(); muted {
		lines = append(lines, text.New(text.Bold("Muted"), ": ", describe.Mute(m)))
	}
	if c.Triage.Verdict != nil {
		lines = append(lines, describe.Verdict(*c.Triage.Verdict))
	}
	older := max(len(c.Triage.Notes)-maxNotes, 0)
	if older > 0 {
		lines = append(lines, text.New(text.Count(older, "more note"), ": type ", text.Code(attackLine(c.Situation))))
	}
	for _, n := range c.Triage.Notes[older:] {
		lines = append(lines, describe.Note(n))
	}
	return lines
}

// whoIsOnIt is the owner with the pager and the links, and whom that mentions, or why it mentions no one.
func (c Card) whoIsOnIt() text.Text {
	calls := Recipient(c.Triage.Owner, c.Mention, c.QuietHours || c.Reposted)
	who := describe.Owner(c.Triage.Owner)
	if c.Triage.Owner == nil {
		who = describe.Unacknowledged(c.Triage, !c.Quiet)
	}
	if c.Triage.Owner != nil && calls == c.Triage.Owner.ID {
		who, calls = describe.OwnerSince(*c.Triage.Owner, text.User(calls)), "" // by the name that calls
	}
	who = text.New(who, c.Page.text())
	for _, link := range []text.Link{{Label: "runbook", URL: c.Runbook}, {Label: "console", URL: c.ConsoleURL}} {
		if address, ok := inLine(link.URL); ok {
			who = text.New(who, " · ", text.Link{Label: link.Label, URL: address})
		}
	}
	switch {
	case calls != "":
		return text.New(who, " · ", text.User(calls))
	case c.QuietHours && c.Triage.Owner == nil:
		mentioned := text.New("no one was mentioned")
		if !c.MentionedAt.IsZero() {
			mentioned = text.New(mentioned, " when it got worse, last at ", c.MentionedAt)
		}
		return text.New(who, " · quiet hours: ", mentioned, "; outside them ", text.Code(c.Suppressed), " is")
	}
	return who
}

// Page is the state of a route's pager. At most one of its times is set.
type Page struct {
	At      time.Time // it is called then, unless acknowledged before; zero: it isn't
	PagedAt time.Time // it was called, and the attack is still unacknowledged; zero: it wasn't
	Fault   string    // why it can't be called
}

// text goes behind the owner.
func (p Page) text() text.Text {
	switch {
	case !p.At.IsZero():
		return text.New(" · pages at ", p.At)
	case !p.PagedAt.IsZero():
		return text.New(" · paged at ", p.PagedAt)
	case p.Fault != "":
		return text.New(" · ", text.Bold("not paged"), ": ", text.Sanitize(p.Fault, text.MaxField))
	}
	return nil
}

func (c Card) appName(limit int) string {
	return text.Sanitize(c.Situation.Account.AppName(c.Situation.Attack.App), limit)
}

func typeName(a apiclient.Attack, limit int) string {
	return describe.TypeName(text.Sanitize(a.Type, limit))
}

func timeOr(t time.Time, unknown string) any {
	if t.IsZero() {
		return unknown
	}
	return t
}
