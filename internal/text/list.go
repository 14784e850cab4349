package text

// Join is one line of several, with between between them. Empty ones are left out.
func Join(lines []Text, between string) (all Text) {
	for _, l := range lines {
		if len(l) == 0 {
			continue
		}
		if len(all) > 0 {
			all = New(all, between)
		}
		all = New(all, l)
	}
	return all
}

// Enumerate is the first of all, as show shows them, with commas between them, and how many more there are.
func Enumerate[T any](all []T, most int, show func(T) Text) Text {
	var shown []Text
	for _, one := range all[:min(most, len(all))] {
		shown = append(shown, show(one))
	}
	line := Join(shown, ", ")
	if more := len(all) - most; more > 0 {
		line = New(line, " and ", more, " more")
	}
	return line
}

// AsCode shows a word as code.
func AsCode(word string) Text { return New(Code(word)) }
