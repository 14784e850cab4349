package policy

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Cardless reports whether an attack gets no card because it comes from named sources alone that shall give none. An
// incident always gets one.
func (p Policy) Cardless(a apiclient.Attack) bool {
	if a.Incident() {
		return false
	}
	silent := slices.DeleteFunc(p.Named(), func(s config.Source) bool { return s.Cards })
	return len(silent) > 0 && comesFrom(a, func(source apiclient.Source) bool {
		return slices.ContainsFunc(silent, func(s config.Source) bool {
			return slices.ContainsFunc(s.Ranges, func(r netip.Prefix) bool {
				return grammar.RangeOf(record.Unmap(r)).Holds(source) // what merely stands for it gets its card
			})
		})
	})
}

// comesFrom reports whether all listed sources of an attack lie in some ranges. Where the service lists only some of
// them, these must also be half of the attack, or the attack could come from any other source.
func comesFrom(a apiclient.Attack, in func(apiclient.Source) bool) bool {
	var hits int64
	for _, s := range a.Sources {
		if !in(s) {
			return false
		}
		hits += s.Hits.N
	}
	all := a.SourceCount.Known && a.SourceCount.N <= a.Listed()
	return len(a.Sources) > 0 && (all || a.Hits.Known && hits >= a.Hits.N-hits)
}

// ProtectedSource is what an admin protected, as guards and cards take it.
func ProtectedSource(p record.Protected) config.Source {
	return config.Source{Name: text.Field(cmp.Or(p.Name, "protected by "+p.By.Name)), Ranges: []netip.Prefix{p.Range},
		Deny: p.Deny, Cards: true}
}

// HowDenied says whether a source is denied, for the end of a sentence.
func HowDenied(deny string) string {
	if deny == config.DenyApproval {
		return "denied only with approval"
	}
	return "never denied"
}

// Matches reports whether a source is what was asked for.
func Matches(s config.Source, words []string) bool {
	if len(words) == 0 {
		return true
	}
	if t, err := grammar.ParseRange(words[0]); err == nil {
		return slices.ContainsFunc(s.Ranges, t.Overlaps)
	}
	word := strings.ToLower(words[0])
	return strings.Contains(strings.ToLower(s.Name), word) ||
		slices.ContainsFunc(s.Ranges, func(r netip.Prefix) bool { return strings.Contains(r.String(), word) })
}

// maxRanges is how many ranges of a source are shown: a CDN has hundreds.
const maxRanges = 5

// maxFile is how many characters of a file's path are shown.
const maxFile = 120

// Line is a source in one line.
func Line(s config.Source) text.Text {
	var line text.Text
	for i, r := range s.Ranges[:min(maxRanges, len(s.Ranges))] {
		if i > 0 {
			line.Addf(", ")
		}
		line.Addf("`%v`", grammar.RangeOf(record.Unmap(r)).String())
	}
	if more := len(s.Ranges) - maxRanges; more > 0 {
		line.Addf(" and %v", text.Count(more, "more range"))
	}
	line.Addf("| |*%v*|, |%v", text.Field(s.Name), HowDenied(s.Deny))
	if !s.Cards {
		line.Addf(", no cards")
	}
	if s.File != "" {
		line.Addf(", with `%v` as of %v", text.Sanitize(s.File, maxFile), s.ReadAt)
	}
	if s.Broken != "" {
		line.Addf(". *It can't be read now*: %v", s.Broken)
	}
	return line
}

// BrokenSources warns of files that can't be read, or can't be read any more.
func (p Policy) BrokenSources() []text.Text {
	var lines []text.Text
	for _, s := range p.Named() {
		if s.Broken != "" {
			lines = append(lines, text.Newf("*Source %v*: `%v` can't be read: %v. What it held at %v counts",
				text.Field(s.Name), text.Sanitize(s.File, maxFile), s.Broken, s.ReadAt))
		}
	}
	return lines
}

// Muted is the mute that keeps an attack back now, if one does. None ever keeps an incident back.
func Muted(all []record.Mute, a apiclient.Attack, now time.Time) (record.Mute, bool) {
	return first(all, func(m record.Mute) bool { return !a.Incident() && !m.Over(now) && MuteCovers(m, a) })
}

// MuteCovers reports whether a mute is for an attack.
func MuteCovers(m record.Mute, a apiclient.Attack) bool {
	if m.App != 0 && a.App != apiclient.Known(int64(m.App)) {
		return false
	}
	switch {
	case m.Attack != "":
		return m.Attack == record.AttackID(m.Account, a.ID)
	case m.Type != "":
		return strings.EqualFold(m.Type, a.Type)
	}
	return comesFrom(a, grammar.RangeOf(m.Source).Holds)
}
