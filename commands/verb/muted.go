package verb

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/nearest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// mutable is what can be muted.
const mutable = `
[attack=]: one attack, by its id
[source=]: attacks from an address or a range: all sources that the service lists lie in it, and are at least half
  of the hits where it doesn't list all
[type=]: attacks of a type, as sqli
[app=]: only on this application; with source= or type=`

// muteTyped is what a line mutes, by the one who asks. An attack that is only implied gives way to what was typed.
func muteTyped(c *call.Call) (record.Mute, error) {
	keys := c.Line.Keys
	if c.Implied && (keys["source"] != "" || keys["type"] != "") {
		c.DropAttack()
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
		return record.Mute{}, c.Cmd.Misuse("Missing: one of ", text.Code("attack="), ", ", text.Code("source="), " and ", text.Code("type="), ", and only one")
	}
	if keys["app"] != "" {
		if m.Attack != "" {
			return record.Mute{}, c.Cmd.Misuse(text.Code("app="), " goes with ", text.Code("source="), " or ", text.Code("type="))
		}
		var err error
		if m.App, err = strconv.Atoi(keys["app"]); err != nil {
			return record.Mute{}, fmt.Errorf("read application %q: %w", keys["app"], err)
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
