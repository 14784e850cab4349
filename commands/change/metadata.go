package change

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Metadata is a change as a message in Slack carries it, so that what is in force and how to undo it can be rebuilt after Redis was emptied.
// Everybody in the channel can read it. What people would look for stands there in words; what undo needs besides is packed, because Slack
// takes about a kilobyte in all.
const (
	metadataVersion = "3"
	maxMetadata     = 900     // bytes of its JSON: the message's envelope and its delivery id need the rest
	maxUnpacked     = 1 << 16 // bytes: what others packed must not fill this process's memory
)

// packed is what the metadata's words leave out.
type packed struct {
	record.Change
	Line string `json:"line,omitempty"` // where it is too long to stand in words
}

// rest is the part of a change that its metadata packs.
func rest(c record.Change) record.Change {
	return record.Change{
		Does: c.Does, When: c.When, Role: c.Role, Actor: record.Actor{Team: c.Actor.Team}, Reason: c.Reason, Fault: c.Fault, Steps: c.Steps, EndedBy: c.EndedBy, EndedAt: c.EndedAt,
		Approved: c.Approved, Overridden: c.Overridden, Request: c.Request, Renew: c.Renew, Gone: c.Gone,
	}
}

// Metadata is the change for a message's metadata: flat, and under a kilobyte. What doesn't fit is left out: first the reason, then the line in
// words, then what it did ("steps"). ReadMemo reads it.
func Metadata(c record.Change) map[string]any {
	brief := c
	brief.Line, brief.Reason = c.Line.With("reason", ""), ""
	bare := brief
	bare.Line = record.Line{}
	for _, try := range []struct {
		words  record.Change
		packed *record.Change // nil: left out
	}{{c, &c}, {brief, &brief}, {bare, &brief}, {brief, nil}} {
		if meta, ok := metadataOf(try.words, try.packed); ok {
			return meta
		}
	}
	meta, _ := metadataOf(bare, nil)
	return meta
}

// metadataOf is the change's words with, if given, the packed rest; ok reports whether it fits.
func metadataOf(c record.Change, whole *record.Change) (meta map[string]any, ok bool) {
	meta = map[string]any{
		"version": metadataVersion, "account": c.Account, "change": c.ID, "state": string(c.State), "at": c.At.UTC().Format(time.RFC3339Nano),
		"by": c.Actor.ID, "by_name": text.Sanitize(c.Actor.Name, text.MaxField), "via": string(c.Actor.Via),
	}
	for name, value := range map[string]string{"attack": c.AttackID, "undoes": c.Undoes, "extends": c.Extends} {
		if value != "" {
			meta[name] = value
		}
	}
	if c.Line.Name != "" {
		meta["line"] = c.Line.String()
	}
	if !c.Until.IsZero() {
		meta["until"] = c.Until.UTC().Format(time.RFC3339Nano)
	}
	var err error
	if whole != nil {
		meta["steps"], err = pack(*whole, meta)
	}
	text, marshalErr := json.Marshal(meta)
	return meta, errors.Join(err, marshalErr) == nil && len(text) <= maxMetadata
}

// pack is what the metadata's words leave out, as the base64 of a zlib stream whose dictionary are those words.
func pack(c record.Change, meta map[string]any) (string, error) {
	p := packed{Change: rest(c)}
	p.Steps = slices.Clone(c.Steps)
	for i := range p.Steps {
		p.Steps[i].SentAt = time.Time{} // the words tell when it was made
	}
	if meta["line"] == nil {
		p.Line = c.Line.String()
	}
	var b bytes.Buffer
	z, err := zlib.NewWriterLevelDict(&b, zlib.BestCompression, dictionary(meta))
	if err == nil {
		err = errors.Join(json.NewEncoder(z).Encode(p), z.Close())
	}
	return base64.RawStdEncoding.EncodeToString(b.Bytes()), err
}

// dictionary is what a packed rest may refer to: words that every one holds, and the metadata's own. zlib's checksum finds a meta whose words
// were altered.
func dictionary(meta map[string]any) []byte {
	const usual = `{"type":"iequal","value":"","point":["header","HOST"]},{"type":"equal","value":"","point":["path",0]},{"type":"absent","point":["path",1]},` +
		`{"type":"absent","point":["action_ext"]},{"type":"equal","value":"","point":["action_name"]},{"type":"equal","value":"POST","point":["method"]},` +
		`{"type":"equal","value":"4","point":["instance"]}],"point":[["post"],["form_urlencoded","get"],["header","USER-AGENT"]],"attack_type":"sqli",` +
		`"regex":"","mode":"monitoring","mode":"block","validated":true,"updated":"2026-","condition_id":1` +
		`"comment":"","author":"","event_type":"","created":"20,"before":[{"id":,"equal":[` +
		`{"kind":"delete_entry","entry":{"id":1,{"kind":"delete_rule","rule":{"id":1,"type":"service_mode","conditions":[{"type":"regex",` +
		`{"id":"","account":"","effect":"","does":"actor":{"id":"","team":"T0","name":"","via":""},"reason":"","at":"0001-01-01T00:00:00Z","state":"","steps":[` +
		`{"kind":"create_rule","rule":{"type":"vpatch","conditions":[ everywhere for Switch Undo of: Prolong by Patch exactly Deny ` +
		`","when":"in minutes to 1 h","role":"admin","when":"in about 1 min","role":"responder","team":"T0","reason":"","steps":[` +
		`{"kind":"add_entry","entry":{"list":"white","list":"gray","list":"black","kind":"country","values":[""],"kind":"ip_range","subnet":"/32","apps":[0],` +
		`"reason":"","expires":"2026-00:00:00Z"},"force":true,"sent":true,"done":true,"id":1}]}`
	words := usual
	for _, name := range []string{"account", "line", "at", "until", "undoes", "extends"} {
		words += " " + field(meta, name)
	}
	ch := record.Change{ID: field(meta, "change"), AttackID: field(meta, "attack"), Actor: record.Actor{ID: field(meta, "by"), Name: field(meta, "by_name")}}
	return []byte(words + ` "` + describe.Reason(ch))
}

// field is a metadata's text of that name; "" if it has none.
func field(meta map[string]any, name string) string {
	text, _ := meta[name].(string)
	return text
}

// ReadMetadata reads what Metadata wrote. One that isn't whole and true to its form is refused; of one without what it did Steps is empty.
func ReadMetadata(meta map[string]any) (c record.Change, err error) {
	if version := field(meta, "version"); version != metadataVersion {
		err = fmt.Errorf("its form is %q, not %s", text.Sanitize(version, text.MaxField), metadataVersion)
	} else if c, err = readMetadata(meta); err == nil {
		err = validate(c)
	}
	if err != nil {
		return record.Change{}, fmt.Errorf("read change %s: %w", text.Sanitize(field(meta, "change"), text.MaxField), err)
	}
	return c, nil
}

func readMetadata(meta map[string]any) (record.Change, error) {
	var p packed
	if err := p.unpack(meta); err != nil {
		return record.Change{}, err
	}
	c := rest(p.Change)
	c.Account, c.ID, c.AttackID, c.State, c.Undoes, c.Extends = field(meta, "account"), field(meta, "change"), field(meta, "attack"), record.State(field(meta, "state")), field(meta, "undoes"), field(meta, "extends")
	c.Actor.ID, c.Actor.Name, c.Actor.Via = field(meta, "by"), field(meta, "by_name"), record.Via(field(meta, "via"))
	var atErr, untilErr, lineErr error
	if c.At, atErr = time.Parse(time.RFC3339Nano, field(meta, "at")); field(meta, "until") != "" {
		c.Until, untilErr = time.Parse(time.RFC3339Nano, field(meta, "until"))
	}
	for i := range c.Steps {
		if c.Steps[i].Sent {
			c.Steps[i].SentAt = c.At
		}
	}
	line := cmp.Or(field(meta, "line"), p.Line)
	if line != "" {
		c.Line, lineErr = grammar.Parse(line)
	}
	c.Effect, c.Does = call.Effect(c.Line), cmp.Or(c.Does, text.Sanitize(line, text.MaxPath))
	switch {
	case c.State != record.StateUndone:
		c.EndedBy, c.EndedAt = nil, time.Time{}
	case c.EndedBy == nil:
		c.EndedBy = &record.Actor{Name: "an unknown user"}
	}
	return c, errors.Join(atErr, untilErr, lineErr)
}

func (p *packed) unpack(meta map[string]any) error {
	if field(meta, "steps") == "" {
		return nil
	}
	z, err := zlib.NewReaderDict(base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(field(meta, "steps"))), dictionary(meta))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxUnpacked))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	return json.Unmarshal(text, p)
}

// validate refuses what no change of wafbot's own can be.
func validate(c record.Change) error {
	states := []record.State{record.StateBegun, record.StateDone, record.StateHalf, record.StateFailed, record.StateUndone}
	ways := []record.Via{"", record.ViaSlash, record.ViaMention, record.ViaButton, record.ViaForm, record.ViaCLI, record.ViaClock} // "": of one that is known by its entries only
	switch {
	case c.Account == "" || len(c.Account) > text.MaxField || !record.IsID('c', c.ID) || !slices.Contains(states, c.State):
		return errors.New("it has no account, id or state")
	case c.Actor.ID == "" || len(c.Actor.ID) > text.MaxField || !slices.Contains(ways, c.Actor.Via):
		return errors.New("it has no author")
	case c.AttackID != "" && !record.IsAttackID(c.AttackID), c.Parent() != "" && !record.IsID('c', c.Parent()):
		return errors.New("what it is about has no id")
	}
	for _, s := range c.Steps {
		entry, rule := s.Kind == record.AddEntry || s.Kind == record.DeleteEntry, s.Kind == record.CreateRule || s.Kind == record.DeleteRule
		if entry && s.Entry == nil || rule && s.Rule == nil || !entry && !rule {
			return fmt.Errorf("its step %q is none", text.Sanitize(string(s.Kind), text.MaxField))
		}
	}
	return nil
}
