package pire

import (
	"iter"
	"math/bits"
	"unicode"
)

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
	return !m.ends(r.root, m.everywhere()).empty()
}

// match finds where parts of an expression end in a text.
type match struct {
	text  []rune // between begin and end
	fold  bool
	known map[step]set
}

// step is a match of a part from one place on.
type step struct {
	part node
	from int
}

// node is a part of an expression.
type node interface {
	// ends are all the places where a match from one of some places on ends. It may return the set that it got, and changes none.
	ends(m *match, from set) set
}

func (m *match) ends(n node, from set) set {
	if from.empty() {
		return from
	}
	return n.ends(m, from)
}

// endsFrom are the ends of matches from one place on. Each is found once, so that the time is bounded however deep an expression is nested.
func (m *match) endsFrom(n node, place int) set {
	s, known := m.known[step{n, place}]
	if !known {
		from := m.none()
		from.put(place)
		s = m.ends(n, from)
		m.known[step{n, place}] = s
	}
	return s
}

// onceMore are the ends of a part's matches from each of the places on.
func (m *match) onceMore(n node, from set) set {
	s := m.none()
	for place := range from.places() {
		s.add(m.endsFrom(n, place))
	}
	return s
}

// set is a set of places in a text, a bit each. Places lie before characters; the last one lies behind the end.
type set []uint64

func (m *match) none() set { return make(set, len(m.text)/64+1) }

func (m *match) everywhere() set {
	s := m.none()
	for place := range len(m.text) + 1 {
		s.put(place)
	}
	return s
}

func (s set) put(place int) { s[place/64] |= 1 << (place % 64) }

func (s set) empty() bool {
	for _, word := range s {
		if word != 0 {
			return false
		}
	}
	return true
}

func (s set) add(other set) {
	for i, word := range other {
		s[i] |= word
	}
}

func (s set) keep(other set) {
	for i, word := range other {
		s[i] &= word
	}
}

func (s set) remove(other set) {
	for i, word := range other {
		s[i] &^= word
	}
}

func (s set) places() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

type span struct{ from, to rune }

// one is a character of some, or of all others. The places that ^ and $ match are none of these others.
type one struct {
	spans   []span
	negated bool
}

func (c *one) ends(m *match, from set) set {
	s := m.none()
	for place := range from.places() {
		if place < len(m.text) && c.has(m.text[place], m.fold) {
			s.put(place + 1)
		}
	}
	return s
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

func (c *concatenation) ends(m *match, from set) set {
	for _, part := range c.parts {
		from = m.ends(part, from)
	}
	return from
}

type alternation struct{ either []node }

func (a *alternation) ends(m *match, from set) set {
	s := m.none()
	for _, one := range a.either {
		s.add(m.ends(one, from))
	}
	return s
}

// intersection asks for each place by itself: both sides must match the same text.
type intersection struct{ both []node }

func (b *intersection) ends(m *match, from set) set {
	if len(b.both) == 1 {
		return m.ends(b.both[0], from)
	}
	s := m.none()
	for place := range from.places() {
		all := m.none()
		all.add(m.endsFrom(b.both[0], place))
		for _, other := range b.both[1:] {
			all.keep(m.endsFrom(other, place))
		}
		s.add(all)
	}
	return s
}

// complement asks for each place by itself, like an intersection.
type complement struct{ of node }

func (c *complement) ends(m *match, from set) set {
	s := m.none()
	for place := range from.places() {
		others := m.none()
		for behind := place; behind <= len(m.text); behind++ {
			others.put(behind)
		}
		others.remove(m.endsFrom(c.of, place))
		s.add(others)
	}
	return s
}

// repetition repeats a part; most is -1 without end.
type repetition struct {
	part        node
	least, most int
}

func (r *repetition) ends(m *match, from set) set {
	for range r.least {
		from = m.onceMore(r.part, from)
	}
	s := m.none()
	s.add(from)
	for n := r.least; n != r.most && !from.empty(); n++ {
		more := m.onceMore(r.part, from)
		more.remove(s)
		s.add(more)
		from = more
	}
	return s
}
