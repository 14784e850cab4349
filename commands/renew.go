package commands

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Watch tells what goes on, as the replica sees it that watches the account: elsewhere nothing is known.
type Watch interface {
	// Knocks reports whether one of these denied addresses still tries.
	Knocks(account string, addresses []netip.Addr) bool
	// GoesOn reports whether an attack goes on; its id is as AttackID makes it.
	GoesOn(account, attack string) bool
}

type unwatched struct{}

// Knocks implements Watch.
func (unwatched) Knocks(string, []netip.Addr) bool { return false }

// GoesOn implements Watch.
func (unwatched) GoesOn(string, string) bool { return false }

// renews reports whether a denial is prolonged while it knocks: of single addresses, and not yet for as long as that may last. Those of one denial
// are prolonged together while one of them knocks: they have one line, one end and one undo, and one who waited is no friend.
func (p Policy) renews(targets []grammar.Target, length time.Duration) bool {
	ranges := slices.ContainsFunc(targets, func(t grammar.Target) bool { return t.Kind != apiclient.KindRange || !t.Prefix.IsSingleIP() })
	return !ranges && length != grammar.Never && length < p.Renew
}

// oneAddress reports whether an entry is for one address.
func oneAddress(e apiclient.IPRule) bool {
	return e.Kind == apiclient.KindRange && e.Subnet.IsSingleIP()
}

// denied are the addresses that the change denies one by one.
func changeDenied(c record.Change) (all []netip.Addr) {
	for _, s := range c.Steps {
		if s.Kind == record.AddEntry && s.Done && s.Entry.List == apiclient.ListDeny && oneAddress(*s.Entry) {
			all = append(all, s.Entry.Subnet.Addr())
		}
	}
	return all
}

// renewal says that the change lasts longer while it knocks, and how long at most; nothing where it doesn't.
func changeRenewal(c record.Change) text.Text {
	switch {
	case !c.Until.Before(c.Renew):
		return nil
	case len(c.Steps) > 1:
		return text.New(", longer while one of them keeps trying, ", c.Renew, " at most")
	}
	return text.New(", longer while it keeps trying, ", c.Renew, " at most")
}

// longer is by how much wafbot prolongs the change when it knocks: by its own length, as far as it may; 0: not at all.
func changeLonger(c record.Change) time.Duration {
	length, err := grammar.ParseDuration(c.Line.Keys["for"])
	if err != nil || length == grammar.Never {
		length = c.Until.Sub(c.At)
	}
	return max(0, min(length, c.Renew.Sub(c.Until))).Truncate(time.Second)
}

// limited is the change as wafbot may prolong it by what the policy says now, which may be less than when it was made.
func (r *Runner) limited(ch record.Change) record.Change {
	if !ch.Renew.IsZero() {
		ch.Renew = earlier(ch.Renew, end(ch.At, r.cfg.Policy.Renew))
	}
	return ch
}

// renewLine is the line that prolongs the change, as a person could type it.
func changeRenewLine(c record.Change) record.Line {
	return record.Line{Name: "extend", Words: []string{c.ID}}.With("for", grammar.DurationText(changeLonger(c))).With("reason", "it is still trying").With("account", c.Account)
}

// ExtendButton prolongs a change by as long as it was to hold at first.
func ExtendButton(ch record.Change) Suggestion {
	length, err := grammar.ParseDuration(ch.Line.Keys["for"])
	if err != nil || length == grammar.Never {
		length = ch.Until.Sub(ch.At).Truncate(time.Minute)
	}
	length = max(length, time.Minute)
	return Suggestion{
		Label: "Extend " + text.HumanDuration(length), Title: "Let it hold longer?", OK: "Extend",
		Line:    record.Line{Name: "extend", Words: []string{ch.ID}}.With("for", grammar.DurationText(length)).With("account", ch.Account),
		Confirm: fmt.Sprintf("%s: %s longer than now.", ch.Does, text.HumanDuration(length)),
	}
}

// EndsLines ask about a change that ends while what it was made for goes on, and say why it isn't prolonged by itself. When people can't be asked
// before it has ended, they say that it has.
func EndsLines(ch record.Change, now time.Time) []text.Text {
	if !now.Before(ch.Until) {
		return []text.Text{text.New(text.Bold(ch.Does), " ended at ", ch.Until, " while the attack went on"), text.New("Nobody could be asked before: nothing of it holds any more")}
	}
	why := text.New("Then it is over, unless somebody extends it")
	switch {
	case ch.Renew.IsZero():
	case changeLonger(ch) == 0:
		why = text.New("It was made at ", ch.At, " and lasts as long as wafbot may extend it by itself")
	default:
		why = text.New("wafbot extends it by itself if it keeps trying, which it didn't lately")
	}
	return []text.Text{text.New(text.Bold(ch.Does), " ends at ", ch.Until, " and the attack goes on"), why}
}
