package card

import (
	"slices"

	"github.com/wafbot/wafbot/internal/text"
)

// part is a piece of a card's line. Where there is no room for all, those with the highest spare are left out first;
// those with 0 stay.
type part struct {
	text  text.Text
	spare int
}

// line is a line of a card, its parts with dots between them.
type line []part

// say adds a part that is always shown; nothing where there is nothing to say.
func (l *line) say(s text.Sentence, values ...any) { l.spare(0, s, values...) }

// spare adds a part that may be left out.
func (l *line) spare(spare int, s text.Sentence, values ...any) {
	if t := text.Newf(s, values...); len(t) > 0 && !blank(t) {
		*l = append(*l, part{t, spare})
	}
}

func (l line) text() text.Text {
	var all text.Lines
	for _, p := range l {
		all = append(all, p.text)
	}
	return text.Join(all, " · ")
}

// links reports whether the line has a link.
func (l line) links() bool {
	return slices.ContainsFunc(l, func(p part) bool {
		return slices.ContainsFunc(p.text, func(s text.Span) bool { return s.Kind == text.KindLink })
	})
}

// fitLines leaves parts out until the lines together have at most so many characters, and drops empty lines.
func fitLines(lines []line, most int) []line {
	for together(lines) > most {
		at, of, spare := -1, -1, 0
		for i, l := range lines {
			for j, p := range l {
				if p.spare > spare {
					at, of, spare = i, j, p.spare
				}
			}
		}
		if at < 0 {
			break
		}
		lines[at] = slices.Delete(slices.Clone(lines[at]), of, of+1)
	}
	return slices.DeleteFunc(lines, func(l line) bool { return len(l) == 0 })
}

// together counts the characters of lines as a person sees them.
func together(lines []line) (n int) {
	for _, l := range lines {
		for _, p := range l {
			n += visible(p.text) + len(" · ") - 1 // or the end of the line
		}
	}
	return n
}

// How many characters a client shows of what it writes itself, about.
const (
	shownClock = 8  // 03:01 AM
	shownTime  = 18 // Nov 28th 03:01 AM
	shownUser  = 15
)

// visible counts the characters of a line as a person sees them.
func visible(t text.Text) (n int) {
	for _, s := range t {
		switch s.Kind {
		case text.KindClock:
			n += shownClock
		case text.KindTime, text.KindAgo:
			n += shownTime
		case text.KindUser, text.KindChannel:
			n += shownUser
		default:
			n += length(s.Text)
		}
	}
	return n
}
