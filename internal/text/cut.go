package text

import (
	"strings"
)

// What a piece of a line takes in Slack's markup beside its own characters, and a moment altogether.
const (
	spanMarks = 3
	timeMarks = 90
)

// Cut is the beginning of a line that takes at most so many characters in Slack's markup.
func (t Text) Cut(most int) Text {
	var out Text
	for _, s := range t {
		if !s.Moment().IsZero() {
			if most -= timeMarks; most < 0 {
				return append(out, Span{Plain: "…"})
			}
			out = append(out, s)
			continue
		}
		if s.Link.URL != "" {
			if most -= spanMarks + len(s.Link.URL) + len(s.Link.Label); most < 0 {
				return append(out, Span{Plain: "…"})
			}
			out = append(out, s)
			continue
		}
		most -= spanMarks
		for _, part := range []*string{&s.Plain, &s.Code, &s.Bold, &s.User, &s.Channel} {
			whole := len(*part)
			*part, most = cutText(*part, most)
			if len(*part) < whole {
				return append(out, s, Span{Plain: "…"})
			}
		}
		out = append(out, s)
	}
	return out
}

// cutText is the beginning of a text for which there is room, and what is left of the room. Three characters are escaped there.
func cutText(s string, room int) (string, int) {
	for i, r := range s {
		if strings.ContainsRune("&<>", r) {
			room -= len("&amp;") - 1
		}
		if room--; room < 0 {
			return s[:i], room
		}
	}
	return s, room
}
