package commands_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// throughSlack is metadata as a message gives it back.
func throughSlack(t testing.TB, metadata map[string]any) (back map[string]any) {
	t.Helper()
	text, err := json.Marshal(metadata)
	require.NoError(t, err)
	require.Less(t, len(text), 950, "%s", text)
	require.NoError(t, json.Unmarshal(text, &back))
	for name, value := range back {
		require.IsType(t, "", value, name)
	}
	return back
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

func TestMetadataHoldsAllOfAChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(policy.ApproveBroad, policy.ApproveAllow, policy.ApproveBlockPath))
	all := everyChange(w)
	kinds := map[string]bool{}
	for _, c := range all {
		kinds[c.Line.Name+" "+string(c.State)] = true
		back, err := change.ReadMetadata(throughSlack(t, change.Metadata(c)))
		require.NoError(t, err)
		c.Observed, c.With = nil, "" // evidence is wafbot's own, and too large; what is done is carried out by nobody
		require.JSONEq(t, inJSON(t, c), inJSON(t, back))
	}
	require.Len(t, kinds, 12, "%v", kinds)
}

func TestAMemoLeavesOutWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := w.does(ann, "deny 192.0.2.1 reason="+strings.Repeat("because%20", 100))
	back, err := change.ReadMetadata(throughSlack(t, change.Metadata(long)))
	require.NoError(t, err)
	require.Empty(t, back.Reason)
	long.Reason, long.Line = "", long.Line.With("reason", "")
	require.JSONEq(t, inJSON(t, long), inJSON(t, back))

	var targets []string
	for i := range 40 {
		targets = append(targets, fmt.Sprintf("198.51.%d.%d", 17*i%251, 31*i%253))
	}
	many := w.does(ann, "deny "+strings.Join(targets, " "))
	back, err = change.ReadMetadata(throughSlack(t, change.Metadata(many)))
	require.NoError(t, err)
	require.Empty(t, back.Steps)
	require.Equal(t, many.Line, back.Line)
	many = w.does(ann, "deny "+strings.ReplaceAll(strings.Join(targets, " "), "198.51.", "198.52.")+" "+strings.ReplaceAll(strings.Join(targets, " "), "198.51.", "198.53."))
	back, err = change.ReadMetadata(throughSlack(t, change.Metadata(many)))
	require.NoError(t, err)
	require.Empty(t, back.Steps)
	require.Equal(t, []any{many.ID, many.State, many.Until}, []any{back.ID, back.State, back.Until})
}

func TestAMemoThatIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	metadata := throughSlack(t, change.Metadata(w.does(ann, "deny 192.0.2.1")))
	for name, ch := range map[string]func(m map[string]any){
		"of a later version": func(m map[string]any) { m["version"] = "4" },
		"of an earlier one":  func(m map[string]any) { m["version"] = "1" },
		"no number":          func(m map[string]any) { m["version"] = 1 },
		"no id":              func(m map[string]any) { delete(m, "change") },
		"no id of ours":      func(m map[string]any) { m["change"] = "c/../../.." },
		"no account":         func(m map[string]any) { m["account"] = "" },
		"no state":           func(m map[string]any) { m["state"] = "great" },
		"no time":            func(m map[string]any) { m["at"] = "yesterday" },
		"no end":             func(m map[string]any) { m["until"] = "never" },
		"undoes nothing":     func(m map[string]any) { m["undoes"] = "all" },
		"no attack":          func(m map[string]any) { m["attack"] = "a1" },
		"another line":       func(m map[string]any) { m["line"] = "deny 0.0.0.0/0" },
		"another's":          func(m map[string]any) { m["by"] = "U9EVE" },
		"half a line":        func(m map[string]any) { m["line"] = `deny "` },
		"cut short":          func(m map[string]any) { m["steps"] = m["steps"].(string)[:40] },
		"packed otherwise":   func(m map[string]any) { m["steps"] = "AAAA" },
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

// Whatever stands in a channel: it is refused, or it is a change that can be shown, planned with and written again.
func FuzzReadMetadata(f *testing.F) {
	c := record.Change{
		ID: "c7k2m9xw4", Account: "acme", Line: record.Line{Name: "deny", Words: []string{"192.0.2.1"}}, Does: "Deny", Actor: ann, State: record.StateUndone,
		At: time.Unix(1795230000, 0).UTC(), EndedBy: &bob, Steps: []record.Step{{Kind: record.CreateRule, Rule: &apiclient.Rule{Type: apiclient.RuleMode}, Sent: true, Done: true}},
	}
	seed, err := json.Marshal(change.Metadata(c))
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte(`{"version":"3","steps":"eNo"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var metadata map[string]any
		if json.Unmarshal(text, &metadata) != nil {
			return
		}
		c, err := change.ReadMetadata(metadata)
		if err != nil {
			return
		}
		_ = describe.Change(c, nil)
		_ = advice.Undo(c, time.Now())
		_ = c.DueAt()
		again, err := change.ReadMetadata(throughSlack(t, change.Metadata(c)))
		require.NoError(t, err)
		require.Equal(t, c.ID, again.ID)
		r := change.Rebuild(&call.Account{Name: "acme"}, []record.Change{c}, nil, time.Now())
		require.Equal(t, 1, len(r.Changes)+len(r.Unknown))
	})
}
