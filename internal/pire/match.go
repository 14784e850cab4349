package pire

import "unicode"

// What ^ and $ match: before the first character, and behind the last one.
const (
	begin = -1 - iota
	end
)

// Match reports whether the expression is found anywhere in a text.
func (r *Regexp) Match(text string) bool { return r.found(text, false) }

// MatchAnyCase reports whether it is found if case counts, or if it doesn't: which of these the service goes by it doesn't say.
func (r *Regexp) MatchAnyCase(text string) bool { return r.found(text, false) || r.found(text, true) }

func (r *Regexp) found(text string, fold bool) bool {
	m := &match{text: append(append([]rune{begin}, []rune(text)...), end), fold: fold, known: map[step]set{}}
	for at := range len(m.text) + 1 {
		if m.ends(r.root, at).any() {
			return true
		}
	}
	return false
}

// match finds where parts of an expression end in a text.
type match struct {
	text  []rune // between begin and end
	fold  bool
	known map[step]set
}

type step struct {
	part node
	from int
}

// node is a part of an expression.
type node interface {
	// ends are all the places where a match from a place on ends.
	ends(m *match, from int) set
}

func (m *match) ends(n node, from int) set {
	s, known := m.known[step{n, from}]
	if !known {
		s = n.ends(m, from)
		m.known[step{n, from}] = s
	}
	return s
}

// set is a set of places in a text.
type set []bool

func (m *match) none() set { return make(set, len(m.text)+1) }

func (m *match) at(place int) set {
	s := m.none()
	s[place] = true
	return s
}

func (s set) any() bool {
	for _, in := range s {
		if in {
			return true
		}
	}
	return false
}

// add puts the places of another set in, and reports whether there were new ones.
func (s set) add(other set) (more bool) {
	for place, in := range other {
		if in && !s[place] {
			s[place], more = true, true
		}
	}
	return more
}

// after are the ends of matches that begin at one of the places.
func (m *match) after(places set, n node) set {
	s := m.none()
	for place, in := range places {
		if in {
			s.add(m.ends(n, place))
		}
	}
	return s
}

type span struct{ from, to rune }

// one is a character of some, or of all others. The places that ^ and $ match are none of these others.
type one struct {
	spans   []span
	negated bool
}

func (c *one) ends(m *match, from int) set {
	if from == len(m.text) || !c.has(m.text[from], m.fold) {
		return m.none()
	}
	return m.at(from + 1)
}

func (c *one) has(r rune, fold bool) bool {
	in := c.in(r)
	if r < 0 {
		return in && !c.negated
	}
	if fold {
		in = in || c.in(unicode.ToLower(r)) || c.in(unicode.ToUpper(r))
	}
	return in != c.negated
}

func (c *one) in(r rune) bool {
	for _, s := range c.spans {
		if s.from <= r && r <= s.to {
			return true
		}
	}
	return false
}

type concatenation struct{ parts []node }

func (c *concatenation) ends(m *match, from int) set {
	s := m.at(from)
	for _, part := range c.parts {
		s = m.after(s, part)
	}
	return s
}

type alternation struct{ either []node }

func (a *alternation) ends(m *match, from int) set {
	s := m.none()
	for _, one := range a.either {
		s.add(m.ends(one, from))
	}
	return s
}

type intersection struct{ both []node }

func (b *intersection) ends(m *match, from int) set {
	s := m.none()
	s.add(m.ends(b.both[0], from))
	for _, other := range b.both[1:] {
		also := m.ends(other, from)
		for place := range s {
			s[place] = s[place] && also[place]
		}
	}
	return s
}

type complement struct{ of node }

func (c *complement) ends(m *match, from int) set {
	s, not := m.none(), m.ends(c.of, from)
	for place := from; place < len(s); place++ {
		s[place] = !not[place]
	}
	return s
}

// repetition repeats a part; most is -1 without end.
type repetition struct {
	part        node
	least, most int
}

func (r *repetition) ends(m *match, from int) set {
	now := m.at(from)
	for n := 0; n < r.least && now.any(); n++ {
		now = m.after(now, r.part)
	}
	s := m.none()
	s.add(now)
	for n := r.least; n != r.most; n++ {
		if now = m.after(now, r.part); !s.add(now) {
			break
		}
	}
	return s
}
