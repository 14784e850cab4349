package bot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
)

// How much of what strangers wrote a card shows, in visible characters.
const (
	maxType    = 60
	maxName    = 60
	maxField   = 60
	maxVulnID  = 20
	maxTitle   = 120
	maxAddress = 50
	maxCountry = 20
)

// How many sources a card names.
const maxSources = 3

// headline says what happens, where, and whether it worked.
func (c Card) headline() []commands.Text {
	a := c.Situation.Attack
	kind := "ATTACK"
	if a.Incident() {
		kind = "INCIDENT"
	}
	title := []string{kind, typeName(a, maxType), c.appName(maxName), commands.StatusName(a)}
	switch {
	case a.FalsePositive():
		title = append(title, "false positive")
	case c.Quiet:
		title = append(title, "quiet")
	}
	lines := []commands.Text{
		commands.Say(c.sign(), " ", commands.Bold(strings.Join(title, " · ")), " ", commands.Code(c.Situation.ID)),
		commands.Say(commands.Code(commands.Where(a)), commands.In(a)),
	}
	if a.Incident() {
		lines = append(lines, c.worked())
	}
	if c.Late > 0 {
		lines = append(lines, commands.Say(commands.Bold("Told "+lateness(c.Late)+" late"), ": wafbot found it at ", c.clock(c.Found), " and couldn't tell it sooner"))
	}
	return lines
}

// lateness is how late something is told, as exact as it matters.
func lateness(d time.Duration) string {
	if d >= time.Minute {
		d = d.Truncate(time.Minute)
	}
	return commands.HumanDuration(d.Truncate(time.Second))
}

// sign is for the eye that runs down a channel: the words beside it say the same.
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

func (c Card) worked() commands.Text {
	a := c.Situation.Attack
	line := commands.Say(commands.Bold("It worked"), ", says the service: vulnerability ", commands.Code(commands.Visible(a.VulnID, maxVulnID)))
	if c.Vuln != "" {
		line = commands.Say(line, " “", commands.Visible(c.Vuln, maxTitle), "”")
	}
	return commands.Say(line, ", ", commands.Severity(a.Threat), ". Assume data was read")
}

// figures say from where, how much, since when, and what the application does about it.
func (c Card) figures() []commands.Text {
	a := c.Situation.Attack
	counts := commands.Say(a.Hits, commands.Plural(a.Hits.N, " hit"), ", ", a.Payloads, commands.Plural(a.Payloads.N, " payload"), " since ", c.clock(a.First))
	lines := append([]commands.Text{c.sources(), c.aged(counts)}, c.course()...)
	return append(append(lines, c.unrefreshed()...), c.mode())
}

func (c Card) sources() commands.Text {
	a := c.Situation.Attack
	sources := slices.DeleteFunc(slices.Clone(a.Sources), func(s apiclient.Source) bool { return !s.IP.IsValid() })
	slices.SortStableFunc(sources, func(x, y apiclient.Source) int { return cmp.Compare(y.Hits.N, x.Hits.N) })
	sources = sources[:min(maxSources, len(sources))]
	var line commands.Text
	for _, s := range sources {
		line = commands.Say(line, commands.Code(commands.Visible(s.IP.String(), maxAddress)))
		if own, ok := c.Situation.Policy.SourceOf(s.IP); ok {
			line = commands.Say(line, " = ", commands.Visible(own.Name, maxName), ",")
		}
		if s.Country != "" {
			line = commands.Say(line, " ", commands.Visible(s.Country, maxCountry))
		}
		if percent, ok := commands.Share(s, a); ok {
			line = commands.Say(line, " ", commands.Percent(percent))
		}
		line = commands.Say(line, " (", s.Hits, ")")
		if more := c.Situation.Scene.Seen[s.IP].Elsewhere(a, s.IP); more != "" {
			line = commands.Say(line, ", ", more)
		}
		line = commands.Say(line, " · ")
	}
	switch rest := a.SourceCount.N - int64(len(sources)); {
	case !a.SourceCount.Known:
		return commands.Say(line, "number of sources unknown")
	case len(sources) == 0:
		return commands.Say(a.SourceCount, " sources, none named by the service")
	case rest > 0:
		return commands.Say(line, apiclient.Known(rest), commands.Plural(rest, " more source"))
	}
	return commands.Say(line, "no other source")
}

// aged are figures with their age, which Slack goes on counting, so that it stays true without an edit.
func (c Card) aged(figures commands.Text) commands.Text {
	last := c.Situation.Attack.Last
	if c.Quiet {
		return commands.Say(commands.Bold("Quiet since "), timeOr(last, "an unknown time"), " · ", figures, " (sampled)")
	}
	read := ", updated each minute while they change"
	switch _, muted := c.muted(); {
	case muted:
		read = ", not refreshed while it is muted"
	case c.Situation.Attack.FalsePositive():
		read = ", not refreshed while it is a false positive"
	case c.blind():
		read = ""
	case c.Behind > 0:
		read = ", drawn " + lateness(c.Behind) + " late: Slack takes no more edits"
	}
	return commands.Say(figures, ", last hit ", ago(last), " (sampled; figures read ", ago(c.FiguresAt), read, ")")
}

// unrefreshed says that what goes on can't be watched.
func (c Card) unrefreshed() []commands.Text {
	if !c.blind() {
		return nil
	}
	return []commands.Text{commands.Say(commands.Bold("These figures can't be refreshed"), " since ", c.clock(c.Blind.From), ": ", c.Blind.Why, ". The attack may have grown")}
}

// blind reports whether what goes on can't be watched.
func (c Card) blind() bool { return !c.Blind.From.IsZero() && !c.Quiet }

func (c Card) muted() (commands.Mute, bool) {
	return commands.Muted(c.Situation.Scene.Mutes, c.Situation.Attack, c.Situation.Now)
}

// clock is a moment by the reader's clock, with its day where that isn't clear.
func (c Card) clock(t time.Time) any {
	if t.IsZero() || c.Situation.Now.Sub(t).Abs() >= sameDay {
		return timeOr(t, "an unknown time")
	}
	return commands.Clock(t)
}

// ago is a moment as its age.
func ago(t time.Time) any {
	if t.IsZero() {
		return "at an unknown time"
	}
	return commands.Ago(t)
}

func (c Card) mode() commands.Text {
	s := c.Situation
	if s.LookedAt.IsZero() || !s.Attack.App.Known {
		return commands.Say("Mode by rules: unknown")
	}
	mode := cmp.Or(commands.ModeByRules(s.Rules, int(s.Attack.App.N)), "inherited, not visible")
	return commands.Say("Mode by rules: ", commands.Visible(mode, maxName), " (a node's own setting can override it)")
}

func (c Card) appName(limit int) string {
	return commands.Visible(c.Situation.Account.AppName(c.Situation.Attack.App), limit)
}

func typeName(a apiclient.Attack, limit int) string {
	return commands.TypeName(commands.Visible(a.Type, limit))
}

func timeOr(t time.Time, unknown string) any {
	if t.IsZero() {
		return unknown
	}
	return t
}
