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
	maxType    = 60
	MaxName    = 60
	maxField   = 60
	maxVulnID  = 20
	maxTitle   = 120
	maxAddress = 50
	maxCountry = 20
)

// How many sources a card names.
const maxSources = 3

// headline says what happens, where, and whether the attack succeeded.
func (c Card) headline() []text.Text {
	a := c.Situation.Attack
	kind := "ATTACK"
	if a.Incident() {
		kind = "INCIDENT"
	}
	title := []string{kind, typeName(a, maxType), c.appName(MaxName), describe.StatusName(a)}
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
	counts := text.New(a.Hits, text.Plural(a.Hits.N, " hit"), ", ", a.Payloads, text.Plural(a.Payloads.N, " payload"), " since ", c.clock(a.First))
	lines := append([]text.Text{c.sources(), c.aged(counts)}, c.course()...)
	return append(append(lines, c.unrefreshed()...), c.mode())
}

func (c Card) sources() text.Text {
	a := c.Situation.Attack
	sources := slices.DeleteFunc(slices.Clone(a.Sources), func(s apiclient.Source) bool { return !s.IP.IsValid() })
	slices.SortStableFunc(sources, func(x, y apiclient.Source) int { return cmp.Compare(y.Hits.N, x.Hits.N) })
	sources = sources[:min(maxSources, len(sources))]
	var line text.Text
	for _, s := range sources {
		line = text.New(line, text.Code(text.Sanitize(s.IP.String(), maxAddress)))
		if own, ok := c.Situation.Policy.SourceOf(s.IP); ok {
			line = text.New(line, " = ", text.Sanitize(own.Name, MaxName), ",")
		}
		if s.Country != "" {
			line = text.New(line, " ", text.Sanitize(s.Country, maxCountry))
		}
		if percent, ok := describe.Share(s, a); ok {
			line = text.New(line, " ", describe.Percent(percent))
		}
		line = text.New(line, " (", s.Hits, ")")
		if more := describe.SourceElsewhere(c.Situation.Context.Sources[s.IP], a, s.IP); more != "" {
			line = text.New(line, ", ", more)
		}
		line = text.New(line, " · ")
	}
	switch rest := a.SourceCount.N - int64(len(sources)); {
	case !a.SourceCount.Known:
		return text.New(line, "number of sources unknown")
	case len(sources) == 0:
		return text.New(a.SourceCount, " sources, none named by the service")
	case rest > 0:
		return text.New(line, apiclient.Known(rest), text.Plural(rest, " more source"))
	}
	return text.New(line, "no other source")
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
	if s.LookedAt.IsZero() || !s.Attack.App.Known {
		return text.New("Mode by rules: unknown")
	}
	mode := cmp.Or(describe.ModeByRules(s.Rules, int(s.Attack.App.N)), "inherited, not visible")
	return text.New("Mode by rules: ", text.Sanitize(mode, MaxName), " (a node's own setting can override it)")
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
