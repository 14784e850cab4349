package card

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxStormIDs is how many of what gets through a storm's card names.
const maxStormIDs = 4

// stormExtent says where the storm is, since when, and how many attacks it is; without a way to the service, what it
// was.
func (c drawing) stormExtent() (l line) {
	s := *c.Storm
	if c.SharedChannel {
		l.say("*%v*", text.Sanitize(c.Account.Name, maxName))
	}
	if was := c.Headline.Was; was != "" {
		l.say("Was %v. *WAF API unreachable*: act in the console", words.StormState(was, s))
		return l
	}
	l.say("%v", words.Applications(s, c.Account))
	l.say("since %v", c.clock(s.Began))
	counted := text.New(words.Counted(s))
	switch {
	case s.Growing() || c.Quiet:
	case s.GoesOn():
		counted.Addf(", %v", words.Active(s))
	default:
		counted.Addf(", no new ones since %v, %v", c.clock(s.Ended), words.Active(s))
	}
	l.say("%v", counted)
	return l
}

// stormSources names what gets through and where it comes from. If nothing gets through, it names what most of the
// storm has in common.
func (c drawing) stormSources(offered advice.Advice) (lines []line) {
	s := *c.Storm
	said, through := words.StormWords(c.Headline.State, s)
	if through == 0 {
		return []line{{{words.Cause(s, c.Policy), 0}}}
	}
	title := said[:1] + strings.ToLower(said[1:])
	if s.UnblockedCount == 0 {
		lines = append(lines, line{{text.New(title, ": see their own cards"), 0}})
	} else {
		ids := text.New(title, ":")
		for _, a := range s.Unblocked[:min(maxStormIDs, len(s.Unblocked))] {
			ids.Addf(" `%v`", record.AttackID(c.Account.Name, a.ID))
		}
		if more := s.UnblockedCount - maxStormIDs; more > 0 {
			ids.Addf(" and %v more", text.Number(more))
		}
		lines = append(lines, line{{ids, 0}})
	}
	if behind, ok := namedSource(s, offered); ok {
		lines = append(lines, line{{text.New(words.StormSource(behind.Source, c.Policy), " ",
			reach(s, behind)), 0}})
	}
	return lines
}

// namedSource is the source that a storm's card names: that of its button, else the busiest of what gets through.
func namedSource(s record.Storm, offered advice.Advice) (record.StormSource, bool) {
	for _, one := range offered.Suggestions {
		for _, behind := range s.Behind {
			if one.Line.Name == "deny" && slices.Contains(one.Line.Words, behind.String()) {
				return behind, true
			}
		}
	}
	if len(s.Behind) == 0 {
		return record.StormSource{}, false
	}
	return s.Behind[0], true
}

// reach says in how many of the attacks that get through a source is, and that it is in many more, if so: denying it
// stops these alone.
func reach(s record.Storm, source record.StormSource) string {
	through := s.Passing()
	these := text.Number(source.In) + " of these " + text.Number(through)
	if source.In == through {
		these = "all of these " + text.Number(through)
	}
	switch {
	case through == 1:
		return "is in it"
	case 2*source.In < through && 2*source.InAll >= s.Grouped:
		return "is in " + text.Number(source.InAll) + ", but in only " + these
	}
	return "is in " + these
}

// stormNotice is the notification of a storm's card: its state and severity, how many, where, and as far as there is
// room from where, and who is on it.
func (c drawing) stormNotice() string {
	s, h := *c.Storm, c.Headline
	said, through := words.StormWords(h.State, s)
	counted, on := text.Count(s.Grouped, "attack"), text.Cut(words.Applications(s, c.Account), maxNoticeName)
	if s.AppCount > 1 {
		on = text.Count(s.AppCount, "application")
	}
	if s.Growing() {
		counted = "at least " + counted
	}
	if through > 0 {
		counted = text.Number(through) + " of " + counted
	}
	notice := said + ", " + string(h.Severity) + " storm: " + counted + " on " + on + "."
	for _, more := range []string{c.stormNoticeSource(s), stormNoticeOwner(c.Triage), incidentsBeside(s)} {
		if more != "" && noticeFits(notice+" "+more, maxNotice) {
			notice += " " + more
		}
	}
	return notification(notice)
}

// stormNoticeSource is the busiest source of what gets through.
func (c drawing) stormNoticeSource(s record.Storm) string {
	_, through := words.StormWords(c.Headline.State, s)
	if through == 0 || len(s.Behind) == 0 {
		return ""
	}
	behind := s.Behind[0]
	from := behind.String()
	if whose, _ := c.whose(behind.Source, maxNoticeName); whose != "" {
		from += " (" + whose + ")"
	}
	return from + " " + reach(s, behind) + "."
}

func stormNoticeOwner(t record.Triage) string {
	if t.Owner == nil {
		return "Unacked."
	}
	return text.Sanitize(t.Owner.Name, maxNoticeName) + " on it."
}

func incidentsBeside(s record.Storm) string {
	if s.Incidents == 0 {
		return ""
	}
	return text.Count(s.Incidents, "incident") + " beside it."
}
