package change

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// A change travels as JSON in the metadata of its messages, so that what is active, and how to undo it, can be
// rebuilt after Redis was emptied. Everybody in the channel can read it.
const (
	metadataVersion = "4"
	maxMetadata     = 900 // bytes of a part's JSON: Slack takes about a kilobyte, with the envelope and the delivery id
	maxParts        = 16  // so many hold a deleted rule with the longest path that wafbot takes
)

// shortNames are what JSON calls the fields of a change, and in turn what its metadata calls them. The first three are
// two fields of a condition each.
const shortNames = `type":"equal","value is type":"iequal","value isi type":"absent","point no id i again ag approved ok
	attack a attack_type at author au before b comment c condition_id ci conditions co created cr does do done d
	ended_at ea ended_by eb entry e equal eq event_type et expires ex extends xt fault f force fo gone g kind k line l
	list li mode m name n overridden ov point p reason r regex re renew rn request rq role ro rule ru sent s state st
	steps sp subnet sn team tm type t undoes u until un updated up validated va value v values vs actor by at w when wh`

// renaming renames a change's fields in JSON for its metadata, or back. In a value a quote has a backslash before it.
func renaming(back bool) *strings.Replacer {
	names := strings.Fields(shortNames)
	for i := range names {
		names[i] = `"` + names[i] + `":`
	}
	if back {
		slices.Reverse(names)
	}
	return strings.NewReplacer(names...)
}

// requoted is JSON in single quotes, which need no backslashes inside of JSON, or that again in double ones.
func requoted(text string) string { return strings.NewReplacer(`"`, `'`, `'`, `"`).Replace(text) }

// Metadata is the change for the metadata of a message, or of several where one is too small for what is never left
// out: what it is, who made it, when it ends, which rules it made, and whole what it removed. The rest is left out in
// this order where it is too long: the reason, the words, what made rules say, entries, the line. Rules and entries
// can be read from the service.
func Metadata(c record.Change) []map[string]any {
	c = carried(c)
	c.Actor.Name = text.Field(c.Actor.Name)
	c.Steps = slices.Clone(c.Steps)
	for i := range c.Steps {
		c.Steps[i].SentAt = time.Time{} // the change says when it was made
	}
	for _, leaveOut := range []func(c *record.Change){
		func(c *record.Change) { c.Reason, c.Line = "", c.Line.With("reason", "") },
		func(c *record.Change) { c.When, c.Fault = "", "" },
		func(c *record.Change) { c.Does = "" },
		leaveOutRules,
		func(c *record.Change) {
			c.Steps = slices.DeleteFunc(c.Steps, func(s record.Step) bool {
				return s.Kind == record.AddEntry && (len(s.Before) == 0 || c.Extends != "")
			})
		},
		func(c *record.Change) { c.Line = record.Line{} },
	} {
		if parts := split(c); len(parts) == 1 {
			return parts
		}
		leaveOut(&c)
	}
	if parts := split(c); len(parts) <= maxParts {
		return parts
	}
	c.Steps = nil
	return split(c)
}

// carried is the change as its metadata carries it: the rest follows from that, or isn't needed after a rebuild.
func carried(c record.Change) record.Change {
	c.Effect, c.With, c.Observed, c.ModeVerified, c.Asked, c.CheckAt, c.Late = "", "", nil, false, time.Time{},
		time.Time{}, nil
	return c
}

// leaveOutRules leaves out what rules say that the change made, and of an undo, which nobody undoes, those it deleted.
func leaveOutRules(c *record.Change) {
	for i, s := range c.Steps {
		made := s.Kind == record.CreateRule && s.ID != 0 && s.Rule.Type != apiclient.RuleMode // a mode says little
		if made || s.Kind == record.DeleteRule && c.Undoes != "" {
			c.Steps[i].Rule = &apiclient.Rule{ID: s.Rule.ID, Type: s.Rule.Type}
		}
	}
}

// split is the change as metadata, in as many parts as it takes.
func split(c record.Change) (parts []map[string]any) {
	line := ""
	if c.Line.Name != "" {
		line = c.Line.String()
	}
	whole, _ := json.Marshal(struct { // it holds nothing that JSON can't
		record.Change
		ID      string `json:"id,omitempty"` // it stands beside, as does the account
		Account string `json:"account,omitempty"`
		Effect  string `json:"effect,omitempty"`
		Does    string `json:"does,omitempty"`
		Line    string `json:"line,omitempty"`
	}{Change: c, Does: c.Does, Line: line})
	packed := requoted(renaming(false).Replace(string(whole)))
	sum := checksum(c.Account, c.ID, packed)
	for packed != "" {
		part := map[string]any{
			"v": metadataVersion, "account": c.Account, "c": c.ID, "sum": sum, "part": partName(maxParts, maxParts),
		}
		n := min(len(packed), maxMetadata)
		for over := 0; ; n -= 1 + over/2 { // a byte takes two at most: it is JSON already
			for n < len(packed) && !utf8.RuneStart(packed[n]) {
				n--
			}
			part["d"] = packed[:n]
			size, _ := json.Marshal(part)
			if over = len(size) - maxMetadata; over <= 0 {
				break
			}
		}
		packed, parts = packed[n:], append(parts, part)
	}
	for i, part := range parts {
		part["part"] = partName(i+1, len(parts))
	}
	return parts
}

func partName(i, of int) string { return fmt.Sprintf("%02d/%02d", i, of) }

// checksum finds parts of the same text, and one that was altered or cut.
func checksum(account, id, packed string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(account+" "+id+" "+packed)))
}

// field is a metadata's text of that name; "" if it has none.
func field(meta map[string]any, name string) string {
	text, _ := meta[name].(string)
	return text
}

// ReadMetadata reads what Metadata wrote, from all its parts in whatever order. One that isn't whole and true to its
// form is refused. Entries, and what rules say, may be missing.
func ReadMetadata(parts ...map[string]any) (c record.Change, err error) {
	slices.SortFunc(parts, func(x, y map[string]any) int { return cmp.Compare(field(x, "part"), field(y, "part")) })
	packed := ""
	for i, part := range parts {
		if v := field(part, "v"); v != metadataVersion {
			return c, fmt.Errorf("read change: its form is %q, not %s", text.Field(v), metadataVersion)
		}
		if len(parts) > maxParts || field(part, "part") != partName(i+1, len(parts)) || len(field(part, "d")) > maxMetadata {
			return c, errors.New("read change: it isn't whole")
		}
		packed += field(part, "d")
	}
	if len(parts) == 0 || field(parts[0], "sum") != checksum(field(parts[0], "account"), field(parts[0], "c"), packed) {
		return c, errors.New("read change: it was altered or cut")
	}
	if c, err = unpack(packed); err == nil {
		c.Account, c.ID = field(parts[0], "account"), field(parts[0], "c")
		err = validate(c)
	}
	if err != nil {
		id := text.Field(field(parts[0], "c"))
		return record.Change{}, fmt.Errorf("read change %s: %w", id, err)
	}
	return fillIn(c), nil
}

func unpack(packed string) (record.Change, error) {
	var read struct {
		record.Change
		Line string `json:"line"`
	}
	err := json.Unmarshal([]byte(renaming(true).Replace(requoted(packed))), &read)
	c := carried(read.Change)
	if err == nil && read.Line != "" {
		c.Line, err = grammar.Parse(read.Line)
	}
	return c, err
}

// fillIn fills in what follows from the rest of a change.
func fillIn(c record.Change) record.Change {
	for i := range c.Steps {
		if c.Steps[i].Sent {
			c.Steps[i].SentAt = c.At
		}
	}
	if c.Line.Name != "" {
		c.Effect, c.Does = call.Effect(c.Line), cmp.Or(c.Does, text.Sanitize(c.Line.String(), text.MaxPath))
	}
	switch {
	case c.State != record.StateUndone:
		c.EndedBy, c.EndedAt = nil, time.Time{}
	case c.EndedBy == nil:
		c.EndedBy = &record.Actor{Name: "an unknown user"}
	}
	return c
}

// validate refuses what no change of wafbot's own can be.
func validate(c record.Change) error {
	states := []record.State{record.StateBegun, record.StateDone, record.StateHalf, record.StateFailed, record.StateUndone}
	ways := []record.Via{"", record.ViaSlash, record.ViaMention, record.ViaButton, record.ViaForm, record.ViaCLI, record.ViaClock} // "": of one that is known by its entries only
	switch {
	case c.Account == "" || len(c.Account) > text.MaxField || !record.IsID('c', c.ID) || !slices.Contains(states, c.State):
		return errors.New("it has no account, id or state")
	case c.Actor.ID == "" || len(c.Actor.ID) > text.MaxField || !slices.Contains(ways, c.Actor.Via) || c.At.IsZero():
		return errors.New("it has no author or time")
	case c.AttackID != "" && !record.IsAttackID(c.AttackID), c.Parent() != "" && !record.IsID('c', c.Parent()):
		return errors.New("what it is about has no id")
	}
	for _, s := range c.Steps {
		whole := false
		switch s.Kind {
		case record.AddEntry, record.DeleteEntry:
			whole = s.Entry != nil
		case record.CreateRule, record.DeleteRule:
			whole = s.Rule != nil
		}
		if !whole {
			return fmt.Errorf("its step %q is none", text.Field(string(s.Kind)))
		}
	}
	return nil
}
