package commands_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// sentEntries are the entries that were sent to be added since the n-th request.
func (w *world) sentEntries(n int) []map[string]any {
	w.t.Helper()
	var sent []map[string]any
	for _, r := range w.service.Requests("acme")[n:] {
		if r.Method != http.MethodPost || r.Path != "/v4/ip_rules" {
			continue
		}
		var body struct {
			ClientID int            `json:"clientid"`
			IPRule   map[string]any `json:"ip_rule"`
		}
		require.NoError(w.t, json.Unmarshal([]byte(r.Body), &body))
		require.Equal(w.t, 5, body.ClientID)
		require.Contains(w.t, body.IPRule["reason"], "wafbot c")
		delete(body.IPRule, "reason")
		sent = append(sent, body.IPRule)
	}
	return sent
}

// Every kind of entry, on every list: what is sent, what is shown, how it is taken off and put back.
func TestKindsOfEntries(t *testing.T) {
	t.Parallel()
	type entry = map[string]any
	for target, want := range map[string][]entry{
		"203.0.113.7":                     {{"rule_type": "ip_range", "subnet": "203.0.113.7/32"}},
		"203.0.113.0/24":                  {{"rule_type": "ip_range", "subnet": "203.0.113.0/24"}},
		"203.0.0.0/16":                    {{"rule_type": "ip_range", "subnet": "203.0.0.0/16"}},
		"2001:db8::/48":                   {{"rule_type": "ip_range", "subnet": "2001:db8::/48"}},
		"COUNTRY:fr":                      {{"rule_type": "country", "source_values": []any{"FR"}}},
		"country:FR country:de":           {{"rule_type": "country", "source_values": []any{"FR", "DE"}}},
		"proxy:tor":                       {{"rule_type": "proxy_type", "source_values": []any{"TOR"}}},
		"proxy:VPN 203.0.113.7":           {{"rule_type": "proxy_type", "source_values": []any{"VPN"}}, {"rule_type": "ip_range", "subnet": "203.0.113.7/32"}},
		"datacenter:AWS":                  {{"rule_type": "datacenter", "source_values": []any{"aws"}}},
		"datacenter:gce datacenter:azure": {{"rule_type": "datacenter", "source_values": []any{"gce", "azure"}}},
	} {
		for verb, list := range map[string]string{"deny": "black", "allow": "white", "gray": "gray"} {
			w := newWorld(t, withoutApproval(config.ApproveBroad, config.ApproveAllow))
			n := len(w.service.Requests("acme"))
			ch := w.insists(root, verb+" "+target+" app=Shop for=2h")
			sent := w.sentEntries(n)
			var expected []entry // in any order: several addresses are sent side by side
			for _, e := range want {
				all := entry{"list": list, "pools": []any{4.0}, "expired_at": float64(w.clock().Add(2 * time.Hour).Unix())}
				maps.Copy(all, e)
				expected = append(expected, all)
			}
			require.ElementsMatch(t, expected, sent, "%s %s", verb, target)
			require.Len(t, w.listed(list), len(want))
			shown := textOf(w.reads(eve, "lists "+list))
			for _, word := range ch.Line.Words {
				require.Contains(t, shown, word)
				require.Contains(t, shown, " on Shop until 2026-11-20 05:00 UTC")
				require.Contains(t, textOf(w.reads(eve, "lists "+word)), "1 entry", word)
				w.nothing(root, verb+" "+word+" app=Shop for=1h", "already")
				removed := w.does(root, "remove "+word)
				require.Contains(t, textOf(w.reads(eve, "lists "+word)), "0 entries", word)
				w.does(root, "undo "+removed.ID)
				require.Contains(t, textOf(w.reads(eve, "lists "+word)), "1 entry", word)
				require.Equal(t, len(ch.Line.Words), w.sourcesOn(list), "the others were left")
			}
			w.does(root, "undo "+ch.ID)
			require.Empty(t, w.listed(list), "%s %s", verb, target)
		}
	}
}

// sourcesOn counts the sources on a list.
func (w *world) sourcesOn(list string) (n int) {
	for _, e := range w.listed(list) {
		n += max(len(e.SourceValues), 1)
	}
	return n
}

// What other authors have on the lists, and wafbot would not put there, is shown and taken off like the rest.
func TestKindsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.seed(waf.IPRule{RuleType: "country", SourceValues: []string{"FR", "DE"}, Reason: "by hand"})
	require.Contains(t, textOf(w.reads(eve, "lists country:DE")), "denylist: country:DE, country:FR everywhere forever (by hand)")
	w.nothing(root, "remove country:DE", "itself, but country:DE, country:FR on the denylist covers it: entry "+itoa(id))
	ch := w.anyway(root, "remove "+itoa(id))
	require.Empty(t, w.listed("black"))
	w.does(root, "undo "+ch.ID)
	require.Equal(t, []string{"DE,FR [0] forever"}, w.entries("black"))
}

func TestKindsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	for target, words := range map[string]string{
		"country:FRA": "Invalid country", "country:": "Invalid country", "proxy:nord": "One of VPN, SES, PUB, WEB, TOR", "datacenter:mars": "Invalid datacenter",
		"city:Paris": "Invalid IP address or range", "203.0.113.7/33": "Invalid IP address or range", "203.0.113.7/24": "Perhaps 203.0.113.0/24",
	} {
		w.refuses(ann, "deny "+target, refusal.ErrUsage, words)
	}
	for _, target := range []string{"country:FR", "proxy:TOR", "datacenter:aws", "203.0.0.0/16"} {
		w := newWorld(t)
		w.waits(ann, "deny "+target)
	}
}
