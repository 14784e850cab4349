package commands

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Muted is the mute that keeps an attack back now, if one does. None ever keeps an incident back.
func Muted(all []record.Mute, a apiclient.Attack, now time.Time) (record.Mute, bool) {
	i := slices.IndexFunc(all, func(m record.Mute) bool { return !a.Incident() && !m.Over(now) && muteCovers(m, a) })
	if i < 0 {
		return record.Mute{}, false
	}
	return all[i], true
}

// Cardless reports whether an attack gets no card because it comes from named sources alone that shall give none. An incident always gets one.
func (p Policy) Cardless(a apiclient.Attack) bool {
	if a.Incident() {
		return false
	}
	silent := slices.DeleteFunc(p.named(), func(s Source) bool { return !s.NoCards })
	return len(silent) > 0 && comesFrom(a, func(addr netip.Addr) bool {
		return slices.ContainsFunc(silent, func(s Source) bool { return s.has(addr) })
	})
}

func muteCovers(m record.Mute, a apiclient.Attack) bool {
	if m.App != 0 && a.App != apiclient.Known(int64(m.App)) {
		return false
	}
	switch {
	case m.Attack != "":
		return m.Attack == record.AttackID(m.Account, a.ID)
	case m.Type != "":
		return strings.EqualFold(m.Type, a.Type)
	}
	return comesFrom(a, m.Source.Contains)
}

// comesFrom reports whether all listed sources of an attack lie in some ranges. Where the service lists only some of them, these must
// also be half of the attack, or it could be anybody's.
func comesFrom(a apiclient.Attack, in func(netip.Addr) bool) bool {
	var hits int64
	for _, s := range a.Sources {
		if !in(s.IP) {
			return false
		}
		hits += s.Hits.N
	}
	all := a.SourceCount.Known && a.SourceCount.N <= int64(len(a.Sources))
	return len(a.Sources) > 0 && (all || a.Hits.Known && hits >= a.Hits.N-hits)
}

// what is muted, as the grammar writes it.
func muteWhat(m record.Mute) string {
	what := "type=" + m.Type
	switch {
	case m.Attack != "":
		what = "attack=" + m.Attack
	case m.Source.IsValid():
		what = "source=" + grammar.RangeOf(m.Source).String()
	}
	if m.App != 0 {
		what += fmt.Sprintf(" app=%d", m.App)
	}
	return what
}

// MuteLine is a mute in one line: what, until when, by whom.
func MuteLine(m record.Mute) text.Text {
	return text.New(text.Code(muteWhat(m)), " until ", m.Until, ", by ", text.Sanitize(m.By.Name, text.MaxField), " ", text.Code(m.ID))
}

// mutable is what can be muted.
func mutable() []Arg {
	return []Arg{
		{Name: "attack", Help: "one attack, by its id", Options: ongoingAttacks},
		{Name: "source", Help: "attacks from an address or a range: all sources that the service lists lie in it, and are at least half of the hits where it doesn't list all", Read: readRange},
		{Name: "type", Help: "attacks of a type, as sqli", Read: readType},
		{Name: "app", Help: "only on this application; with source= or type=", Label: "Application", Read: readApp, Options: configuredApps},
	}
}

// muteLength is how long a mute lasts: never forever.
func muteLength() Arg {
	length := argFor(Policy.muteFor)
	length.Options = lengths
	return length
}

func mute() *Command {
	return &Command{
		Name: "mute", Role: record.Responder,
		Summary: "hear nothing of an attack, a source or a type for a while; incidents are told as ever, and what still goes on at its end is told then",
		Args:    append(mutable(), muteLength()),
		Missing: func(l record.Line) bool {
			return l.Keys["attack"] == "" && l.Keys["source"] == "" && l.Keys["type"] == ""
		},
		Form:  muteForm,
		Write: writeMute,
	}
}

func writeMute(c *Call) (Result, error) {
	m, err := c.muteTyped()
	if err != nil {
		return Result{}, err
	}
	if m.Attack != "" && c.Attack.Incident() {
		return Result{}, refusal.Nothing(text.New(text.Code(m.Attack), " is an incident, and incidents are always told. Nothing was changed"))
	}
	all, err := c.mutesNow(c.Account)
	if err != nil {
		return Result{}, err
	}
	if m.Until, err = c.muteEnd(); err != nil {
		return Result{}, err
	}
	i := slices.IndexFunc(all, func(have record.Mute) bool { return have.ID == m.ID })
	if i >= 0 && !all[i].Until.Before(m.Until) {
		return unwritten(all[i], text.New("Muted already: ", MuteLine(all[i]), ". Nothing was changed")), nil
	}
	if i >= 0 {
		all = slices.Delete(all, i, i+1)
	}
	return c.keepMutes(append(all, m), m, text.New("Muted: ", MuteLine(m)), text.New("Incidents are told as ever. What still goes on then is told then. ", text.Code("unmute "+m.ID), " ends it")), nil
}

// maxCards is how many cards are drawn again because of one mute, or of what was protected.
const maxCards = 50

// cardsOf are some of the account's attacks that go on, for their cards to be drawn again.
func (c *Call) cardsOf(some func(a apiclient.Attack) bool) (cards []string) {
	known, err := c.knownAttacks()
	if err != nil {
	}
	for id, a := range known {
		if len(cards) < maxCards && some(a) && c.ongoing(c.Account, a) {
			cards = append(cards, id)
		}
	}
	return cards
}

// keepMutes writes the account's mutes down, and has the cards that one of them is or was about say so.
func (c *Call) keepMutes(all []record.Mute, one record.Mute, answer ...text.Text) Result {
	cards := []string{one.Attack}
	if one.Attack == "" {
		cards = c.cardsOf(func(a apiclient.Attack) bool { return !a.Incident() && muteCovers(one, a) })
	}
	res := written(one, answer...)
	res.Saves.Mutes = &MutesSave{All: all, Stale: cards}
	return res
}

func (c *Call) muteEnd() (time.Time, error) {
	if c.Line.Keys["for"] == grammar.DurationText(grammar.Never) {
		return time.Time{}, refusal.Usage(text.New("a mute needs an end: write ", text.Code("for=1h")))
	}
	length, err := c.length(c.Line.Keys["for"], c.Policy.muteFor())
	return c.Now.Add(length), err
}

// mutesNow are an account's mutes that are not over.
func (c *Call) mutesNow(a *Account) ([]record.Mute, error) {
	all, err := c.facts(a.Name).Mutes()
	if err != nil {
		return nil, Away(err)
	}
	return slices.DeleteFunc(all, func(m record.Mute) bool { return m.Over(c.Now) }), nil
}

// muteTyped is what a line mutes, by the one who asks. An attack that is only implied gives way to what was typed.
func (c *Call) muteTyped() (record.Mute, error) {
	keys := c.Line.Keys
	if c.Implied && (keys["source"] != "" || keys["type"] != "") {
		c.forgetAttack()
		keys = c.Line.Keys
	}
	m := record.Mute{Account: c.Account.Name, Attack: keys["attack"], Type: keys["type"], By: c.Actor}
	if keys["source"] != "" {
		t, err := grammar.ParseRange(keys["source"])
		if err != nil {
			return record.Mute{}, err
		}
		m.Source = t.Prefix
	}
	named := 0
	for _, key := range []string{"attack", "source", "type"} {
		if keys[key] != "" {
			named++
		}
	}
	if named != 1 {
		return record.Mute{}, c.Cmd.misuse(text.New("say what, by one of ", text.Code("attack="), ", ", text.Code("source="), " and ", text.Code("type=")))
	}
	if keys["app"] != "" {
		if m.Attack != "" {
			return record.Mute{}, c.Cmd.misuse(text.New(text.Code("app="), " goes with ", text.Code("source="), " or ", text.Code("type=")))
		}
		var err error
		if m.App, err = strconv.Atoi(keys["app"]); err != nil {
			return record.Mute{}, fmt.Errorf("read application %q: %w", keys["app"], err)
		}
	}
	m.ID = record.MuteID(m.Account, muteWhat(m))
	return m, nil
}

// forgetAttack makes a line about something else than the attack in whose thread it was typed.
func (c *Call) forgetAttack() {
	c.Line, c.Attack = c.Line.With("attack", ""), nil
}

func unmute() *Command {
	return &Command{
		Name: "unmute", Role: record.Responder,
		Summary: "end a mute",
		Args:    append([]Arg{{Name: "mute", Object: true, Help: "the mute's id; or what is muted, as it was written"}}, mutable()...),
		Write:   writeUnmute,
	}
}

func writeUnmute(c *Call) (Result, error) {
	all, err := c.mutesNow(c.Account)
	if err != nil {
		return Result{}, err
	}
	var found []int
	if len(c.Line.Words) > 0 {
		if c.Implied {
			c.forgetAttack()
		}
		for i, m := range all {
			if record.MatchID(m.ID, c.Line.Words[0]) {
				found = append(found, i)
			}
		}
	} else {
		typed, err := c.muteTyped()
		if err != nil {
			return Result{}, err
		}
		if i := slices.IndexFunc(all, func(m record.Mute) bool { return m.ID == typed.ID }); i >= 0 {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		return Result{}, refusal.Nothing(text.New("no mute on ", c.Account.Name, " is that one: ", text.Code("status"), " lists them. Nothing was changed"))
	}
	ended := all[found[0]]
	return c.keepMutes(slices.Delete(all, found[0], found[0]+1), ended, text.New("No longer muted: ", text.Code(muteWhat(ended)))), nil
}

func readRange(value string, _ *Account) (string, error) {
	t, err := grammar.ParseRange(value)
	return t.String(), err
}

var attackType = regexp.MustCompile(`^[a-z0-9_-]{1,60}$`)

func readType(value string, _ *Account) (string, error) {
	value = strings.ToLower(value)
	if !attackType.MatchString(value) {
		return "", refusal.Usage(text.New(refusal.Typed(value), " is no type of attack: write one word, as ", text.Code("sqli")))
	}
	return value, nil
}
