package verb

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// mutable is what can be muted.
func mutable() []call.Arg {
	return []call.Arg{
		{Name: "attack", Help: "one attack, by its id", Options: form.OngoingAttacks},
		{Name: "source", Help: "attacks from an address or a range: all sources that the service lists lie in it, and are at least half of the hits where it doesn't list all", Read: readRange},
		{Name: "type", Help: "attacks of a type, as sqli", Read: readType},
		{Name: "app", Help: "only on this application; with source= or type=", Label: "Application", Read: call.ReadApp, Options: form.ConfiguredApps},
	}
}

func mute() *call.Command {
	length := form.ArgFor(policy.Policy.MuteFor)
	length.Options = form.Lengths // never forever
	return &call.Command{
		Name: "mute", Role: record.Responder,
		Summary: "suppress the notifications of an attack, a source or a type for a while; incidents are posted all the same, and what still goes on at its end is posted then",
		Args:    append(mutable(), length),
		Missing: func(l record.Line) bool {
			return l.Keys["attack"] == "" && l.Keys["source"] == "" && l.Keys["type"] == ""
		},
		Form:  form.MuteForm,
		Write: writeMute,
	}
}

func writeMute(c *call.Call) (call.Result, error) {
	m, err := muteTyped(c)
	if err != nil {
		return call.Result{}, err
	}
	if m.Attack != "" && c.Attack.Incident() {
		return call.Result{}, refusal.Nothing(text.New(text.Code(m.Attack), " is an incident, and incidents are always posted. Nothing was changed"))
	}
	all, err := report.ActiveMutes(c, c.Account)
	if err != nil {
		return call.Result{}, err
	}
	if m.Until, err = muteEnd(c); err != nil {
		return call.Result{}, err
	}
	same := func(have record.Mute) bool { return have.ID == m.ID }
	if i := slices.IndexFunc(all, same); i >= 0 && !all[i].Until.Before(m.Until) {
		return unchanged(all[i], text.New("Muted already: ", describe.Mute(all[i]), ". Nothing was changed")), nil
	}
	all = slices.DeleteFunc(all, same)
	return saveMutes(c, append(all, m), m, text.New("Muted: ", describe.Mute(m)), text.New("Incidents are posted all the same. What still goes on then is posted then. ", text.Code("unmute "+m.ID), " ends it")), nil
}

// saveMutes is the answer of a command that changed the account's mutes; the cards that the mute is or was about are stale.
func saveMutes(c *call.Call, all []record.Mute, one record.Mute, answer ...text.Text) call.Result {
	cards := []string{one.Attack}
	if one.Attack == "" {
		cards = staleCards(c, func(a apiclient.Attack) bool { return !a.Incident() && policy.MuteCovers(one, a) })
	}
	res := saved(one, answer...)
	res.Saves.Mutes = &call.Replacement[record.Mute]{All: all, Stale: cards}
	return res
}

func muteEnd(c *call.Call) (time.Time, error) {
	if c.Line.Keys["for"] == grammar.DurationText(grammar.Never) {
		return time.Time{}, refusal.Usage(text.New("a mute needs an end: write ", text.Code("for=1h")))
	}
	length, err := change.Length(c, c.Line.Keys["for"], c.Policy.MuteFor())
	return c.Now.Add(length), err
}

// muteTyped is what a line mutes, by the one who asks. An attack that is only implied gives way to what was typed.
func muteTyped(c *call.Call) (record.Mute, error) {
	keys := c.Line.Keys
	if c.Implied && (keys["source"] != "" || keys["type"] != "") {
		dropAttack(c)
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
	named := slices.DeleteFunc([]string{keys["attack"], keys["source"], keys["type"]}, func(what string) bool { return what == "" })
	if len(named) != 1 {
		return record.Mute{}, c.Cmd.Misuse(text.New("say what, by one of ", text.Code("attack="), ", ", text.Code("source="), " and ", text.Code("type=")))
	}
	if keys["app"] != "" {
		if m.Attack != "" {
			return record.Mute{}, c.Cmd.Misuse(text.New(text.Code("app="), " goes with ", text.Code("source="), " or ", text.Code("type=")))
		}
		var err error
		if m.App, err = strconv.Atoi(keys["app"]); err != nil {
			return record.Mute{}, fmt.Errorf("read application %q: %w", keys["app"], err)
		}
	}
	m.ID = record.MuteID(m.Account, describe.MuteScope(m))
	return m, nil
}

// dropAttack makes a line about something else than the attack in whose thread it was typed.
func dropAttack(c *call.Call) {
	c.Line, c.Attack = c.Line.With("attack", ""), nil
}

func readRange(value string, _ *call.Account) (string, error) {
	t, err := grammar.ParseRange(value)
	return t.String(), err
}

var attackType = regexp.MustCompile(`^[a-z0-9_-]{1,60}$`)

func readType(value string, _ *call.Account) (string, error) {
	value = strings.ToLower(value)
	if !attackType.MatchString(value) {
		return "", refusal.Usage(text.New(refusal.Typed(value), " is no type of attack: write one word, as ", text.Code("sqli")))
	}
	return value, nil
}

func unmute() *call.Command {
	return &call.Command{
		Name: "unmute", Role: record.Responder,
		Summary: "end a mute",
		Args:    append([]call.Arg{{Name: "mute", Object: true, Help: "the mute's id; or what is muted, as it was written"}}, mutable()...),
		Write:   writeUnmute,
	}
}

func writeUnmute(c *call.Call) (call.Result, error) {
	all, err := report.ActiveMutes(c, c.Account)
	if err != nil {
		return call.Result{}, err
	}
	id := ""
	if len(c.Line.Words) > 0 {
		if c.Implied {
			dropAttack(c)
		}
		id = c.Line.Words[0]
	} else {
		typed, err := muteTyped(c)
		if err != nil {
			return call.Result{}, err
		}
		id = typed.ID
	}
	named := func(m record.Mute) bool { return record.MatchID(m.ID, id) }
	i := slices.IndexFunc(all, named)
	if i < 0 || slices.ContainsFunc(all[i+1:], named) {
		return call.Result{}, refusal.Nothing(text.New("no mute on ", c.Account.Name, " is that one: ", text.Code("status"), " lists them. Nothing was changed"))
	}
	ended := all[i]
	return saveMutes(c, slices.Delete(all, i, i+1), ended, text.New("No longer muted: ", text.Code(describe.MuteScope(ended)))), nil
}
