package verb

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/nearest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxMutes is how many mutes of an account are in force at the same time: each poll goes through them.
const maxMutes = 200

func writeMute(c *call.Call) (res call.Result, err error) {
	m, err := muteTyped(c)
	if err != nil {
		return res, err
	}
	if m.Attack != "" && c.Attack.Incident() {
		return res, refusal.Nothing("`%v` is an incident, and incidents are always posted", m.Attack)
	}
	all, err := report.ActiveMutes(c)
	if err != nil {
		return res, err
	}
	if m.Until, err = muteEnd(c); err != nil {
		return res, err
	}
	same := func(have record.Mute) bool { return have.ID == m.ID }
	if i := slices.IndexFunc(all, same); i >= 0 && !all[i].Until.Before(m.Until) {
		return unchanged(all[i], text.New("Muted already: ", words.Mute(all[i]))), nil
	}
	if all = slices.DeleteFunc(all, same); len(all) >= maxMutes {
		return res, refusal.Guarded("%v mutes are in force already, and no more are kept. `unmute` ends one", maxMutes)
	}
	return saveMutes(c, append(all, m), m, text.New("Muted: ", words.Mute(m)),
		text.Newf("Incidents are posted all the same. What still goes on then is posted then. `unmute %v` ends it",
			m.ID)), nil
}

func muteEnd(c *call.Call) (time.Time, error) {
	if c.Line.Keys["for"] == grammar.DurationText(grammar.Never) {
		return time.Time{}, refusal.Usage("Invalid duration: forever. A mute ends. Example: `for=1h`")
	}
	length, err := change.Length(c, c.Line.Keys["for"], c.Policy.MuteFor())
	return c.Now.Add(length), err
}

func writeUnmute(c *call.Call) (call.Result, error) {
	all, i, err := muteNamed(c)
	if err != nil {
		return call.Result{}, err
	}
	ended := all[i]
	return saveMutes(c, slices.Delete(all, i, i+1), ended, text.Newf("No longer muted: `%v`",
		words.MuteScope(ended))), nil
}

// muteNamed is which of the mutes the line names.
func muteNamed(c *call.Call) (all []record.Mute, i int, err error) {
	if all, err = report.ActiveMutes(c); err != nil {
		return nil, 0, err
	}
	id := ""
	if len(c.Line.Words) > 0 {
		if c.Implied {
			c.DropAttack()
		}
		id = c.Line.Words[0]
	} else {
		typed, err := muteTyped(c)
		if err != nil {
			return nil, 0, err
		}
		id = typed.ID
	}
	named := func(m record.Mute) bool { return record.MatchID(m.ID, id) }
	i = slices.IndexFunc(all, named)
	if i < 0 || slices.ContainsFunc(all[i+1:], named) {
		return nil, 0, refusal.Nothing("no mute on %v is that one: `status` lists them", c.Account.Name)
	}
	return all, i, nil
}

// muteTyped is what a line mutes, by the one who asks. An attack that is only implied gives way to what was typed.
func muteTyped(c *call.Call) (m record.Mute, err error) {
	keys := c.Line.Keys
	if c.Implied && mutesMany(c.Line) {
		c.DropAttack()
		keys = c.Line.Keys
	}
	m = record.Mute{Account: c.Account.Name, Attack: keys["attack"], Type: keys["type"], By: c.Actor}
	if keys["source"] != "" {
		t, err := grammar.ParseRange(keys["source"])
		if err != nil {
			return m, err
		}
		m.Source = t.Prefix
	}
	named := slices.DeleteFunc([]string{keys["attack"], keys["source"], keys["type"]},
		func(what string) bool { return what == "" })
	if len(named) != 1 {
		return m, c.Cmd.Misuse("Missing: one of `attack=`, `source=` and `type=`, and only one")
	}
	if keys["app"] != "" {
		if m.Attack != "" {
			return m, c.Cmd.Misuse("`app=` goes with `source=` or `type=`")
		}
		if m.App, err = strconv.Atoi(keys["app"]); err != nil {
			return m, fmt.Errorf("read application %q: %w", keys["app"], err)
		}
	}
	m.ID = record.MuteID(m.Account, words.MuteScope(m))
	return m, nil
}

var attackType = regexp.MustCompile(`^[a-z0-9_-]{1,60}$`)

// readType takes types that wafbot doesn't know, but none that is one letter off a known one: that is mistyped.
func readType(value string, _ *config.Account) (string, error) {
	value = strings.ToLower(value)
	near := nearest.Word(value, words.Types(), 1)
	if near == value || near == "" && attackType.MatchString(value) {
		return value, nil
	}
	return "", refusal.Invalid("type of attack", value, cmp.Or(near, "sqli"))
}

func muteMisses(l record.Line) bool { return l.Keys["attack"] == "" && !mutesMany(l) }

// mutesMany reports whether a line mutes a source or a type.
func mutesMany(l record.Line) bool { return l.Keys["source"] != "" || l.Keys["type"] != "" }

func muteNeeds(c *call.Call) call.Needs { return call.Needs{Mutes: true, Stored: mutesMany(c.Line)} }

func unmuteNeeds(c *call.Call) call.Needs {
	all, i, err := muteNamed(c)
	return call.Needs{Stored: err == nil && all[i].Attack == ""}
}
