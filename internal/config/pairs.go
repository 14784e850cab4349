package config

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// maxNodes bounds a configuration with its references written out: a short file can refer to its anchors a billion times. A thousand accounts with ten routes each
// have most of it.
const maxNodes = 250_000

// spend reports whether the configuration may hold so many more keys and values.
func (o *origins) spend(at Position, nodes int) bool {
	full := o.full()
	if o.nodes += nodes; o.full() && !full {
		o.reportAt(at, "YAML", fmt.Sprintf("with this there are over %d keys and values, references (*name, <<) and account_defaults written out; take some out", maxNodes))
	}
	return !o.full()
}

// full reports whether the configuration holds too much. Then the rest of it isn't read.
func (o *origins) full() bool { return o.nodes > maxNodes }

// pair is a key of a mapping and its value.
type pair struct{ key, value *yaml.Node }

// mapping collects the pairs of a mapping and of those that << merges into it.
type mapping struct {
	*decoder
	key    string
	all    []pair
	has    map[string]bool
	within map[*yaml.Node]bool // mappings that are being collected: none may be merged into itself
}

// pairs are those of a mapping, then those that << merges into it, of which the first with a key counts. It reports keys that are no plain word or come twice.
func (d *decoder) pairs(n *yaml.Node, key string) []pair {
	m := mapping{decoder: d, key: key, has: map[string]bool{}, within: map[*yaml.Node]bool{}}
	m.collect(n)
	return m.all
}

func (m *mapping) collect(n *yaml.Node) {
	m.within[n] = true
	defer delete(m.within, n)
	seen := map[string]int{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content) && m.spend(m.place(n), 1); i += 2 {
		k, value := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			m.reportAt(m.place(k), below(m.key, "?"), "a key must be a plain word")
			continue
		}
		if line, doubled := seen[k.Value]; doubled {
			m.reportAt(m.place(k), below(m.key, printable(k.Value)), fmt.Sprintf("given twice, first on line %d; remove one", line))
			continue
		}
		seen[k.Value] = k.Line
		switch {
		case k.Tag == "!!merge":
			merged = append(merged, value)
		case !m.has[k.Value]:
			m.has[k.Value] = true
			m.all = append(m.all, pair{k, value})
		}
	}
	for _, value := range merged {
		m.merge(value)
	}
}

// merge collects what << refers to: a mapping, or a list of them.
func (m *mapping) merge(value *yaml.Node) {
	n, from := value, []*yaml.Node{value}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.SequenceNode {
		from = n.Content
	}
	for _, each := range from {
		n := each
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		switch {
		case n.Kind != yaml.MappingNode:
			m.reportAt(m.place(each), below(m.key, "<<"), "merges no keys; write *NAME of an anchor &NAME that has keys below it")
		case m.within[n]:
			m.reportAt(m.place(each), below(m.key, "<<"), "merges keys into themselves; refer to another anchor")
		case m.spend(m.place(each), 1):
			m.collect(n)
		}
	}
}
