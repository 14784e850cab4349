package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"
)

// maxNodes bounds a configuration with its references written out: a short file can refer to its anchors a billion
// times. A thousand accounts with ten routes each have most of it.
var maxNodes = 250_000

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

// pairs are a mapping's pairs, then those that << merges into it; the first pair with a key counts. It reports keys
// that are no plain word or come twice. within are the mappings that it is being merged into: none may merge itself.
func (d *decoder) pairs(n *yaml.Node, key string, within ...*yaml.Node) (all []pair) {
	within = append(within, n)
	seen := map[string]int{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content) && d.spend(d.place(n), 1); i += 2 {
		k, value := n.Content[i], n.Content[i+1]
		line, doubled := seen[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode:
			d.reportAt(d.place(k), below(key, "?"), "a key must be a plain word")
			continue
		case doubled:
			d.reportAt(d.place(k), below(key, printable(k.Value)),
				fmt.Sprintf("given twice, first on line %d; remove one", line))
			continue
		case k.Tag == "!!merge":
			merged = []*yaml.Node{value}
			if list := resolved(value); list.Kind == yaml.SequenceNode {
				merged = list.Content
			}
		default:
			all = append(all, pair{k, value})
		}
		seen[k.Value] = k.Line
	}
	for _, each := range merged {
		switch from := resolved(each); {
		case from.Kind != yaml.MappingNode:
			d.reportAt(d.place(each), below(key, "<<"), "merges no keys; write *NAME of an anchor &NAME that has keys below it")
		case slices.Contains(within, from):
			d.reportAt(d.place(each), below(key, "<<"), "merges keys into themselves; refer to another anchor")
		case d.spend(d.place(each), 1):
			for _, p := range d.pairs(from, key, within...) {
				if _, has := seen[p.key.Value]; !has {
					seen[p.key.Value] = p.key.Line
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// resolved is a node, or the one that it refers to.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
