package commands_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/rebuild"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/text"
)

// emptied loses the ledger and fills it again from these changes' messages and the service's lists; unread: these can't
// be read.
func (w *world) emptied(unread bool, posted ...record.Change) rebuild.Known {
	w.t.Helper()
	var back []record.Change
	for _, c := range posted {
		c, _ := throughSlack(w.t, c)
		back = append(back, c)
	}
	w.ledger.forget()
	w.service.CatchUp()
	entries, rules := w.mirrored()
	if unread {
		entries = nil
	}
	r := rebuild.Changes(w.cfg.Accounts[0], back, rebuild.Service{Entries: entries, Rules: rules}, w.clock())
	w.ledger.set(func(l *ledger) {
		for _, c := range r.Changes {
			l.put(c)
		}
	})
	return r
}

func TestWhatIsInForceIsRebuilt(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	seeded := waf.IPRule{RuleType: "ip_range", Subnet: "203.0.113.7/32", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()}
	w.seed(seeded)
	before := w.entries("black")
	deny := w.does(ann, "deny attack="+id)
	patch := w.does(ann, "patch attack="+id)
	mode := w.anyway(ann, "mode 4 block for=1h")
	gray := w.does(ann, "gray 192.0.2.8 for=1h")
	prolonged := w.does(ann, "extend "+gray.ID+" for=2h")
	taken := w.does(bob, "deny 192.0.2.9")
	undo := w.does(bob, "undo "+taken.ID)

	// Last in whatever order, and of some an earlier state only: an extension or an undo names both.
	r := w.emptied(false, undo, prolonged, gray, mode, patch, deny, taken)
	require.Empty(t, r.Listed)
	require.Empty(t, r.Unknown)
	require.Equal(t, record.StateUndone, w.ledger.change(taken.ID).State)
	require.Equal(t, "Bob", w.ledger.change(taken.ID).EndedBy.Name)
	require.Equal(t, prolonged.Until, w.ledger.change(gray.ID).Until)
	status := textOf(w.reads(eve, "status"))
	require.Contains(t, status, "Modes that have not returned: 1\n")
	require.Contains(t, status, "In force by wafbot: 3\n")
	w.nothing(ann, "deny attack="+id, "done already by Ann")

	w.does(ann, "undo "+deny.ID)
	require.Equal(t, before, w.entries("black"), "what stood there before is back")
	w.does(ann, "undo "+patch.ID)
	require.Empty(t, w.rules("vpatch"))
	w.does(ann, "undo "+gray.ID)
	require.Empty(t, w.entries("gray"))
	require.Equal(t, []string{"block"}, w.modes())
	later := w.clock().Add(time.Hour)
	ids, err := w.ledger.DueChanges(t.Context(), "acme", later)
	require.NoError(t, err)
	ids = slices.DeleteFunc(ids, func(id string) bool { return change.VerifiesDeletion(w.ledger.change(id), later) })
	require.Equal(t, []string{mode.ID}, ids, "the mode still ends by itself")
	w.does(ann, "undo "+mode.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())
}

func TestWhatStandsOnTheListsIsRebuilt(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveAllow))
	id := w.attackOn("/login")
	deny := w.does(ann, "deny 192.0.2.1 192.0.2.2 attack="+id+" for=3h")
	gray := w.does(bob, "gray 192.0.2.3 app=Shop reason=why")
	allow := w.does(root, "allow 192.0.2.4")
	w.seed(waf.IPRule{RuleType: "ip_range", Subnet: "192.0.2.99/32", Reason: "wafbot is great"})
	r := w.emptied(false)
	require.ElementsMatch(t, []string{deny.ID, gray.ID, allow.ID}, r.Listed)
	require.Len(t, r.Changes, 3)

	got := w.ledger.change(deny.ID)
	require.Contains(t, []string{"Deny 192.0.2.1, 192.0.2.2 everywhere", "Deny 192.0.2.2, 192.0.2.1 everywhere"}, got.Does)
	require.ElementsMatch(t, []string{"192.0.2.1", "192.0.2.2"}, got.Line.Words)
	require.Equal(t, []any{id, deny.Until, "deny", ann.ID, "Ann"}, []any{got.AttackID, got.Until, got.Line.Name, got.Actor.ID, got.Actor.Name})
	require.Equal(t, "gray 192.0.2.3 app=4", w.ledger.change(gray.ID).Line.String())
	require.Equal(t, record.Admin, w.ledger.change(allow.ID).Role)
	w.refuses(ann, "extend "+allow.ID+" for=1h", refusal.ErrDenied, "admin")
	for _, c := range []record.Change{deny, gray, allow} {
		w.does(root, "undo "+c.ID)
	}
	require.Equal(t, []string{"192.0.2.99/32 [0] forever"}, w.entries("black"), "another author's")
	require.Empty(t, w.entries("gray"))
	require.Empty(t, w.entries("white"))
}

// someSources are addresses that have little in common.
func someSources(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("198.51.%d.%d", 17*i%251, 31*i%253))
	}
	return all
}

// tooMany is how many sources a denial has that no message can name.
var tooMany = full.Of(50, 120)

func denyOfMany() string { return "deny " + strings.Join(someSources(tooMany), " ") + " for=1h" }

// A denial of more sources than a message can name is completed from the lists.
func TestAMemoWithoutItsStepsIsCompleted(t *testing.T) {
	w := newWorld(t)
	many := w.does(ann, denyOfMany())
	longer := w.does(ann, "extend "+many.ID+" for=1h")
	r := w.emptied(false, many, longer)
	require.Empty(t, r.Unknown)
	require.Len(t, w.ledger.change(many.ID).Steps, tooMany)
	require.Len(t, w.ledger.change(longer.ID).Steps, tooMany)
	require.Equal(t, longer.Until, w.ledger.change(many.ID).Until)
	w.does(ann, "undo "+many.ID)
	require.Empty(t, w.entries("black"))
}

// Not every renewal of a denial is posted: how long it holds the lists say. It is renewed on, if its message had room
// for that, and an undo knows its entries.
func TestARenewalThatWasNotPostedIsRebuilt(t *testing.T) {
	t.Parallel()
	for line, whole := range map[string]bool{"deny 198.51.0.0 for=1h": true, denyOfMany(): false} {
		t.Run(fmt.Sprint(whole), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newBubble(t, renewing(&going{trying: []string{"198.51.0.0"}}, 24*time.Hour))
				ch := w.does(ann, line)
				runDue(t, w, 100*time.Minute)
				renewed := w.ledger.change(ch.ID).Until
				require.Equal(t, ch.Until.Add(time.Hour), renewed)
				w.emptied(false, ch)
				require.WithinDuration(t, renewed, w.ledger.change(ch.ID).Until, 0)
				if whole {
					runDue(t, w, time.Hour)
					require.WithinDuration(t, renewed.Add(time.Hour), w.ledger.change(ch.ID).Until, 0)
					w.emptied(false, ch)
				}
				w.does(ann, "undo "+ch.ID)
				require.Empty(t, w.entries("black"))
			})
		})
	}
}

// Without the lists what such a denial did isn't known: rather none than one whose undo would find nothing to undo.
func TestAMemoWithoutItsStepsAndWithoutTheLists(t *testing.T) {
	w := newWorld(t)
	many := w.does(ann, denyOfMany())
	few := w.does(ann, "deny 192.0.2.1")
	r := w.emptied(true, many, few)
	require.Equal(t, []string{many.ID}, r.Unknown)
	require.Len(t, r.Changes, 1)
	w.refuses(ann, "undo "+many.ID, refusal.ErrUsage, "Unknown change")
}

func TestNothingIsChangedBeforeItIsReadBack(t *testing.T) {
	w := newWorld(t)
	w.redis.Del("{a:acme}:epoch")
	w.refuses(ann, "deny 192.0.2.1", refusal.ErrAway, "is empty", "being rebuilt from the channels")
	require.Contains(t, textOf(w.reads(eve, "status")), "What is in force is unknown: wafbot's store (Redis) is empty")
	require.Zero(t, w.changesSent())
}

// What a rule says that has no room in a message is read from the service, and an undo knows it again.
func TestARuleThatWasLeftOutIsCompleted(t *testing.T) {
	w := newWorld(t)
	ch := w.does(root, "patch POST shop.example.com/"+strings.Repeat("p", 900)+" type=sqli part=post")
	back, _ := throughSlack(t, ch)
	require.Empty(t, back.Steps[0].Rule.Conditions)
	r := w.emptied(false, ch)
	require.Empty(t, r.Unknown)
	require.True(t, apiclient.SameRule(*ch.Steps[0].Rule, *w.ledger.change(ch.ID).Steps[0].Rule))
	w.does(root, "undo "+ch.ID)
	require.Empty(t, w.rules("vpatch"))
}

// Of many entries those are in the messages that took the place of others: what stood there before comes back.
func TestEntriesThatWereLeftOutAreCompletedBesideOthers(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{RuleType: "ip_range", Subnet: "198.51.0.0/32", Reason: "by hand", ExpiredAt: w.clock().Add(time.Minute).Unix()})
	before := w.entries("black")
	many := w.does(ann, denyOfMany())
	back, _ := throughSlack(t, many)
	require.Len(t, back.Steps, 1)
	r := w.emptied(false, many)
	require.Empty(t, r.Unknown)
	require.Len(t, w.ledger.change(many.ID).Steps, tooMany)
	w.does(ann, "undo "+many.ID)
	require.Equal(t, before, w.entries("black"))
}

// throughSlack is a change as its messages give it back, whatever order they are read in.
func throughSlack(t testing.TB, c record.Change) (record.Change, []map[string]any) {
	t.Helper()
	var parts []map[string]any
	for _, part := range slices.Backward(change.Metadata(c)) {
		text, err := json.Marshal(part)
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), 900, "%s", text)
		var back map[string]any
		require.NoError(t, json.Unmarshal(text, &back))
		for name, value := range back {
			require.IsType(t, "", value, name)
		}
		parts = append(parts, back)
	}
	back, err := change.ReadMetadata(parts...)
	require.NoError(t, err)
	return back, parts
}

// inJSON is a change as the ledger gives it back.
func inJSON(t testing.TB, c record.Change) string {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	return string(text)
}

// everyChange does something of each kind, undoes and prolongs, and gives all the changes there are then.
func everyChange(w *world) []record.Change {
	id := w.attackOn("/login")
	w.seed(waf.IPRule{RuleType: "ip_range", Subnet: "192.0.2.9/32", Reason: "by hand", ExpiredAt: w.clock().Add(time.Minute).Unix()})
	for _, line := range []string{
		"deny 192.0.2.9 for=4h reason=\"it's them: “again”\"", "deny attack=" + id, "contain attack=" + id + " 192.0.2.77", "gray 192.0.2.5 192.0.2.6 app=Shop", "allow country:FR for=1h",
		"patch POST shop.example.com/a/b/c type=sqli part=post.json_doc.hash.x app=4 for=7d", "block-path POST shop.example.com/pay for=30m",
		`indicator User-Agent "sqlmap/1[.][0-9]" host=shop.example.com type=vpatch`, "mode 4 block", "mode 7 safe_blocking for=2h",
	} {
		inv := w.asks(root, line)
		inv.Anyway = true
		_, err := w.do(inv)
		if line == "mode 7 safe_blocking for=2h" {
			require.Error(w.t, err, "Legacy can't block")
			continue
		}
		require.NoError(w.t, err, line)
		w.pass(time.Second)
	}
	gray := w.does(ann, "gray 192.0.2.8")
	w.does(ann, "extend "+gray.ID+" for=2h")
	w.does(root, "undo "+gray.ID)
	w.fault("POST /v4/ip_rules", "status:403", 1)
	_, err := w.try(ann, "deny 192.0.2.44")
	require.Error(w.t, err)
	w.does(root, "remove 192.0.2.6")
	return w.ledger.all()
}

// kept is what metadata never leaves out of a change: what it is, who made it and who approved it, when it ends, which
// rules it made, and whole what it removed. Nobody undoes an undo: what that removed is known by its id.
func kept(c record.Change) string {
	all := []any{
		c.ID, c.Account, c.State, c.AttackID, c.Parent(), c.Actor, c.Approved, c.Overridden, c.Role, c.At, c.Until, c.Renew,
	}
	for _, s := range c.Steps {
		switch {
		case s.Kind == record.CreateRule && s.ID == 0:
			all = append(all, s.Rule)
		case s.Kind == record.CreateRule:
			all = append(all, s.ID, s.Rule.Type)
		case s.Kind == record.DeleteRule && c.Undoes != "":
			all = append(all, s.Rule.ID)
		case s.Kind == record.DeleteRule:
			all = append(all, s.Rule)
		case s.Kind == record.DeleteEntry, len(s.Before) > 0:
			all = append(all, s.Entry.ID, s.Entry.Subnet, s.Before)
		}
	}
	text, _ := json.Marshal(all)
	return string(text)
}

func TestMetadataHoldsAllOfAChange(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBroad, config.ApproveAllow, config.ApproveBlockPath))
	all := everyChange(w)
	kinds := map[string]bool{}
	for _, c := range all {
		kinds[c.Line.Name+" "+string(c.State)] = true
		back, parts := throughSlack(t, c)
		require.Len(t, parts, 1)
		c.Observed, c.With = nil, "" // evidence is wafbot's own, and too large; what is done is carried out by nobody
		c.CheckAt = time.Time{}      // which follows from the rest
		require.JSONEq(t, inJSON(t, c), inJSON(t, back))
	}
	require.Len(t, kinds, 12, "%v", kinds)
}

// onPath is a rule with a condition of each kind, eight on a path of three segments.
func onPath(t *testing.T, path string) apiclient.Rule {
	t.Helper()
	scope := apiclient.Scope{App: apiclient.Known(4), Method: "POST", Host: "shop.example.com", Path: path}
	conditions, err := apiclient.ScopeConditions(scope)
	require.NoError(t, err)
	return apiclient.Rule{
		ID: 1 << 40, ConditionID: 1 << 40, Type: apiclient.RulePatch, AttackType: "sqli", Conditions: conditions, Validated: true,
		Point: apiclient.Point{{"post"}, {"json_doc"}, {"hash", "email"}}, Updated: time.Unix(1795230000, 0).UTC(),
	}
}

// Whatever a change is: each of its messages is taken by Slack, and together they hold what must never be left out.
func TestMetadataOfEveryStepFits(t *testing.T) {
	t.Parallel()
	usual, longest := onPath(t, "/api/v2/login.php"), onPath(t, "/"+strings.Repeat("p", apiclient.MaxPath-1))
	require.Len(t, usual.Conditions, 8)
	indicator := usual
	indicator.Type, indicator.Regex, indicator.Comment = apiclient.RuleRegex, strings.Repeat(`<a "&\d+>`, 20), strings.Repeat("é", 200)
	targets := someSources(120)
	entry := func(i int) *apiclient.IPRule {
		return &apiclient.IPRule{ID: 1<<40 + int64(i), List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix(targets[i] + "/32"), Apps: []int{4, 7}, Reason: strings.Repeat("r", 200), Author: "someone", Created: time.Unix(1795230000, 0).UTC(), Expires: apiclient.Forever}
	}
	one := func(kind record.StepKind, rule apiclient.Rule, id int64) []record.Step {
		return []record.Step{{Kind: kind, Rule: &rule, Sent: true, Done: id != 0, ID: id}}
	}
	var many, over []record.Step
	for i := range targets {
		many = append(many, record.Step{Kind: record.AddEntry, Entry: entry(i), Sent: true, Done: true, ID: int64(i)})
		if i < 12 {
			over = append(over, record.Step{Kind: record.AddEntry, Entry: entry(i), Force: true, Before: []apiclient.IPRule{*entry(i)}, Sent: true, Done: true, ID: int64(i)})
		}
	}
	mode := append(one(record.CreateRule, apiclient.Rule{Type: apiclient.RuleMode, Mode: "block"}, 1<<40), one(record.DeleteRule, apiclient.Rule{ID: 1, Type: apiclient.RuleMode, Mode: "monitoring", Updated: time.Unix(1795230000, 0).UTC()}, 1)...)
	for name, tt := range map[string]struct {
		steps []record.Step
		parts int
	}{
		"nothing":                            {nil, 1},
		"an entry":                           {many[:1], 1},
		"120 entries":                        {many, 1},
		"an entry over another":              {over[:1], 2},
		"12 entries over others":             {over, 13},
		"an entry removed":                   {[]record.Step{{Kind: record.DeleteEntry, Entry: entry(0), Sent: true, Done: true}}, 2},
		"a part of an entry removed":         {[]record.Step{over[0], {Kind: record.DeleteEntry, Entry: entry(1), Sent: true, Done: true}}, 3},
		"a rule":                             {one(record.CreateRule, usual, 77), 1},
		"a rule on the longest path":         {one(record.CreateRule, longest, 77), 1},
		"a rule that may not have been made": {one(record.CreateRule, usual, 0), 2},
		"a rule deleted":                     {one(record.DeleteRule, usual, 1), 2},
		"an indicator deleted":               {one(record.DeleteRule, indicator, 1), 3},
		"a rule deleted on the longest path": {one(record.DeleteRule, longest, 1), 12},
		"a mode in place of another":         {mode, 1},
	} {
		c := record.Change{
			ID: "c7k2m9xw4", Account: strings.Repeat("a", 32), Line: record.Line{Name: "deny", Words: targets, Keys: map[string]string{"reason": strings.Repeat("why", 100)}}, AttackID: "a7k2m9xw4",
			Does: "Deny " + strings.Join(targets, ", "), When: "in minutes to 1 h", Role: record.Admin, Actor: record.Actor{ID: "U0123456789", Team: "T0123456789", Name: strings.Repeat("é", text.MaxField), Via: record.ViaMention},
			Approved: &record.Actor{ID: "U9876543210", Team: "T0123456789", Name: strings.Repeat("b", text.MaxField), Via: record.ViaButton}, Request: "r7k2m9xw4", Reason: strings.Repeat("why", 100),
			At: time.Unix(1795230000, 123456789).UTC(), Until: time.Unix(1795230000, 0).UTC(), Renew: time.Unix(1795239999, 0).UTC(), State: record.StateDone, Steps: tt.steps, Fault: strings.Repeat("fault ", 100),
		}
		for _, state := range full.Some(1, []record.State{record.StateBegun, record.StateDone, record.StateHalf, record.StateFailed}) {
			c.State = state
			back, parts := throughSlack(t, c)
			require.Equal(t, kept(c), kept(back), name)
			require.Len(t, parts, tt.parts, name)
		}
		undo := c
		undo.Undoes, undo.Steps = "c7k2m9xw5", slices.Clone(tt.steps)
		back, _ := throughSlack(t, undo)
		require.Equal(t, kept(undo), kept(back), name)
		if len(tt.steps) == 1 && tt.steps[0].Rule != nil && tt.steps[0].ID != 0 {
			_, parts := throughSlack(t, undo)
			require.Len(t, parts, 1, name)
		}
	}
}

// What else is too long is left out: the reason first, then words, what made rules say, and entries.
func TestMetadataLeavesOutWhatDoesNotFit(t *testing.T) {
	w := newWorld(t)
	long := w.does(ann, "deny 192.0.2.1 reason="+strings.Repeat("because%20", 100))
	back, _ := throughSlack(t, long)
	require.Empty(t, back.Reason)
	long.Reason, long.Line, long.CheckAt = "", long.Line.With("reason", ""), time.Time{}
	require.JSONEq(t, inJSON(t, long), inJSON(t, back))

	many := w.does(ann, "deny "+strings.Join(someSources(40), " "))
	back, _ = throughSlack(t, many)
	require.Empty(t, back.Steps)
	require.Equal(t, many.Line, back.Line)
	for i := range many.Steps {
		many.Steps[i].Before = []apiclient.IPRule{*many.Steps[i].Entry}
	}
	many.Steps = slices.Repeat(many.Steps, 3)
	back, _ = throughSlack(t, many)
	require.Empty(t, back.Steps, "rather nothing of what it removed than a part of that")
	require.Equal(t, []any{many.ID, many.State, many.Until, many.Actor}, []any{back.ID, back.State, back.Until, back.Actor})

	made := onPath(t, "/"+strings.Repeat("p", 900))
	made.Type = apiclient.RuleRegex
	rule := record.Change{ID: "c7k2m9xw4", Account: "acme", Line: record.Line{Name: "patch"}, Actor: ann, At: w.clock(), State: record.StateDone, Does: "Patch", Steps: []record.Step{{Kind: record.CreateRule, Rule: &made, Sent: true, Done: true, ID: 7}}}
	back, _ = throughSlack(t, rule)
	require.Equal(t, &apiclient.Rule{ID: made.ID, Type: made.Type}, back.Steps[0].Rule)
	require.Equal(t, "patch", back.Does, "words go first, then the line stands for them")
}

func TestAMemoThatIsNone(t *testing.T) {
	w := newWorld(t)
	_, whole := throughSlack(t, w.does(ann, "deny 192.0.2.1"))
	metadata := whole[0]
	for name, ch := range map[string]func(m map[string]any){
		"of a later version": func(m map[string]any) { m["v"] = "5" },
		"of an earlier one":  func(m map[string]any) { m["v"] = "3" },
		"no number":          func(m map[string]any) { m["v"] = 1 },
		"no id":              func(m map[string]any) { delete(m, "c") },
		"another's id":       func(m map[string]any) { m["c"] = "c7k2m9xw4" },
		"no account":         func(m map[string]any) { m["account"] = "" },
		"another's account":  func(m map[string]any) { m["account"] = "globex" },
		"no sum":             func(m map[string]any) { delete(m, "sum") },
		"no part":            func(m map[string]any) { delete(m, "part") },
		"of more parts":      func(m map[string]any) { m["part"] = "01/02" },
		"another part":       func(m map[string]any) { m["part"] = "02/02" },
		"altered":            func(m map[string]any) { m["d"] = strings.Replace(m["d"].(string), "192.0.2.1", "0.0.0.0/0", 1) },
		"cut short":          func(m map[string]any) { m["d"] = m["d"].(string)[:40] },
		"none":               func(m map[string]any) { m["d"] = []any{} },
		"too long":           func(m map[string]any) { m["d"] = strings.Repeat(" ", 901) + m["d"].(string) },
	} {
		altered := map[string]any{}
		for k, v := range metadata {
			altered[k] = v
		}
		ch(altered)
		_, err := change.ReadMetadata(altered)
		require.Error(t, err, name)
	}
}

// What is whole, and still no change of wafbot's own, is refused too: a sum is no signature.
func TestMetadataOfNoChange(t *testing.T) {
	t.Parallel()
	good := record.Change{ID: "c7k2m9xw4", Account: "acme", Actor: ann, State: record.StateDone, At: time.Unix(1795230000, 0).UTC()}
	for name, alter := range map[string]func(c *record.Change){
		"no id of ours":  func(c *record.Change) { c.ID = "c/../../.." },
		"no account":     func(c *record.Change) { c.Account = "" },
		"a long account": func(c *record.Change) { c.Account = strings.Repeat("a", 61) },
		"no state":       func(c *record.Change) { c.State = "great" },
		"no time":        func(c *record.Change) { c.At = time.Time{} },
		"nobody's":       func(c *record.Change) { c.Actor.ID = "" },
		"no way":         func(c *record.Change) { c.Actor.Via = "pigeon" },
		"undoes nothing": func(c *record.Change) { c.Undoes = "all" },
		"no attack":      func(c *record.Change) { c.AttackID = "a1" },
		"no kind":        func(c *record.Change) { c.Steps = []record.Step{{Kind: "reboot"}} },
		"no entry":       func(c *record.Change) { c.Steps = []record.Step{{Kind: record.DeleteEntry}} },
		"no rule":        func(c *record.Change) { c.Steps = []record.Step{{Kind: record.DeleteRule}} },
	} {
		c := good
		alter(&c)
		_, err := change.ReadMetadata(change.Metadata(c)...)
		require.Error(t, err, name)
	}
	_, err := change.ReadMetadata()
	require.Error(t, err)
}

// Whatever stands in a channel: it is refused, or it is a change that can be shown, planned with and written again.
func FuzzReadMetadata(f *testing.F) {
	c := record.Change{
		ID: "c7k2m9xw4", Account: "acme", Line: record.Line{Name: "deny", Words: []string{"192.0.2.1"}}, Does: "Deny", Actor: ann, State: record.StateUndone,
		At: time.Unix(1795230000, 0).UTC(), EndedBy: &bob, Steps: []record.Step{{Kind: record.CreateRule, Rule: &apiclient.Rule{Type: apiclient.RuleMode}, Sent: true, Done: true}},
	}
	f.Add(change.Metadata(c)[0]["d"].(string))
	f.Add(`{"l":"deny \"","sp":[{"k":"reboot"}]}`)
	f.Fuzz(func(t *testing.T, what string) {
		sum := fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte("acme c7k2m9xw4 "+what)))
		metadata := map[string]any{"v": "4", "account": "acme", "c": "c7k2m9xw4", "part": "01/01", "sum": sum, "d": what}
		c, err := change.ReadMetadata(metadata)
		if err != nil {
			return
		}
		_ = words.Change(c, nil)
		_ = advice.Undo(c, time.Now())
		_ = c.DueAt()
		again, _ := throughSlack(t, c)
		require.Equal(t, c.ID, again.ID)
		r := rebuild.Changes(&config.Account{Name: "acme"}, []record.Change{c}, rebuild.Service{}, time.Now())
		require.Equal(t, 1, len(r.Changes)+len(r.Unknown))
	})
}
