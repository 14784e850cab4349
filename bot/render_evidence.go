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
	if c.Quiet {
		title = append(title, "quiet")
	}
	lines := []commands.Text{commands.Say(c.sign(), " ", commands.Bold(strings.Join(title, " · ")), " ", commands.Code(c.Situation.ID)), commands.Say(commands.Code(commands.Where(a)))}
	if point, ok := apiclient.ParameterPoint(a.Parameter); ok {
		lines[1] = commands.Say(lines[1], ", part ", commands.Code(commands.Visible(point.String(), maxField)))
	} else if a.Parameter != "" {
		lines[1] = commands.Say(lines[1], ", field ", commands.Code(commands.Visible(a.Parameter, maxField)))
	}
	if a.Incident() {
		lines = append(lines, c.worked())
	}
	return lines
}

// sign is for the eye that runs down a channel: the words beside it say the same.
func (c Card) sign() string {
	a := c.Situation.Attack
	switch {
	case c.Quiet:
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
	counts := commands.Say(a.Hits, commands.Plural(a.Hits.N, " hit"), ", ", a.Payloads, commands.Plural(a.Payloads.N, " payload"), " (sampled), since ", timeOr(a.First, "an unknown time"))
	return []commands.Text{c.sources(), counts, c.asOf(), c.mode()}
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
	return commands.Say(line, "no more sources")
}

// asOf says how old the figures are. A card isn't redrawn by the second, so it names the moments instead of counting from them.
func (c Card) asOf() commands.Text {
	last := commands.Say("Last hit ", timeOr(c.Situation.Attack.Last, "unknown"))
	if c.Quiet {
		last = commands.Say(commands.Bold("Quiet since "), timeOr(c.Situation.Attack.Last, "an unknown time"))
	}
	return commands.Say(last, " · figures of ", timeOr(c.FiguresAt, "an unknown time"))
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
