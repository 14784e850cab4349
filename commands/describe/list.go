package describe

import (
	"github.com/wafbot/wafbot/internal/text"
)

// joined is one line of several.
func Joined(lines []text.Text, between string) (all text.Text) {
	for i, l := range lines {
		if i > 0 {
			all = text.New(all, between)
		}
		all = text.New(all, l)
	}
	return all
}

// Enumerate is the first of all, as show shows them, with commas between them, and how many more there are.
func Enumerate[T any](all []T, most int, show func(T) text.Text) text.Text {
	var shown []text.Text
	for _, one := range all[:min(most, len(all))] {
		shown = append(shown, show(one))
	}
	line := Joined(shown, ", ")
	if more := len(all) - most; more > 0 {
		line = text.New(line, " and ", more, " more")
	}
	return line
}

// codeText shows a word as code.
func CodeText(word string) text.Text { return text.New(text.Code(word)) }
