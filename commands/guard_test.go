package commands_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
)

var cdn = source("our CDN", config.DenyNever, "192.0.2.0/24", "2001:db8:c::/48")

func TestBuiltInRangesAreNeverDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveBroad, config.ApproveForever, config.ApproveSource))
	for target, words := range map[string]string{
		"10.0.0.1": "private", "::ffff:10.0.0.1": "private", "::ffff:0a00:1": "private", "10.0.0.0/7": "", "172.16.0.0/12": "private", "172.20.1.1": "private",
		"192.168.1.0/24": "private", "192.168.0.0/15": "contains", "::ffff:192.168.0.0/112": "private", "127.0.0.1": "loopback", "::1": "loopback",
		"169.254.169.254": "link-local", "fe80::1": "link-local", "100.64.0.1": "carrier-grade", "100.64.0.0/12": "carrier-grade", "fd00::1": "unique-local",
		"fc00::/7": "", "0.0.0.0/0": "", "::/0": "", "::ffff:0:0/96": "", "0.0.0.0": "this network", "::": "this network", "::/48": "", "8.0.0.0/6": "contains",
	} {
		for _, verb := range []string{"deny", "gray"} {
			before := w.changesSent()
			_, err := w.try(root, verb+" "+target)
			require.Error(t, err, target)
			require.Contains(t, err.Error(), words, target)
			require.Equal(t, before, w.changesSent())
		}
	}
	for _, target := range []string{"::ffff:0:0/90", "::ffc0:0:0/90", "::fffe:0:0/95"} {
		w.refuses(root, "deny "+target, refusal.ErrUsage)
	}
	require.Empty(t, w.entries("black"))
}

func TestNamedSourcesAreNotDenied(t *testing.T) {
	t.Parallel()
	pentest := source("pen test", config.DenyApproval, "203.0.113.64/27")
	unsaid := source("office", "", "198.51.100.8/29")
	mapped := source("mapped", config.DenyNever, "::ffff:203.0.114.0/120")
	w := newWorld(t, sources(pentest, cdn, unsaid, mapped), withoutApproval(config.ApproveBroad))
	for target, words := range map[string]string{
		"192.0.2.1": "is in our CDN (192.0.2.0/24)", "192.0.2.0/24": "our CDN", "192.0.2.128/25": "our CDN", "192.0.2.0/23": "contains 192.0.2.0/24 of our CDN",
		"::ffff:192.0.2.9": "our CDN", "2001:db8:c::1": "our CDN", "2001:db8::/32": "contains", "198.51.100.9": "office", "203.0.114.1": "mapped",
		"192.0.0.0/12": "our CDN",
	} {
		w.refuses(root, "deny "+target, refusal.ErrGuarded, words)
		w.refuses(root, "deny 8.8.8.8 "+target+" app=4", refusal.ErrGuarded, words)
		w.refuses(root, "gray "+target, refusal.ErrGuarded, words)
	}
	w.waits(root, "deny 203.0.113.65", "pen test", "approval")
	w.waits(root, "deny 203.0.113.0/24", "contains 203.0.113.64/27 of pen test")
	w.reads(root, "protect 198.18.5.7 name=door")
	w.refuses(root, "deny 198.18.5.0/24", refusal.ErrGuarded, "contains 198.18.5.7 of door")
	w.does(ann, "deny 203.0.113.7")
}

// What needs approval never hides what is never denied.
func TestTheStrictestSourceCounts(t *testing.T) {
	t.Parallel()
	lab := source("lab", config.DenyApproval, "10.1.0.0/16", "192.0.2.128/25")
	for _, with := range []func(*commands.Config){withoutApproval(), withoutApproval(config.ApproveSource)} {
		w := newWorld(t, sources(lab, cdn), with)
		w.refuses(root, "deny 10.1.2.3", refusal.ErrGuarded, "private addresses")
		w.refuses(root, "deny 192.0.2.129", refusal.ErrGuarded, "our CDN")
	}
	w := newWorld(t, sources(source("lab", config.DenyApproval, "198.51.100.0/24")), withoutApproval(config.ApproveSource))
	w.refuses(root, "deny 198.51.100.7", refusal.ErrAsk, "198.51.100.7 is in lab (198.51.100.0/24)") // nothing else would say it
	w.anyway(root, "deny 198.51.100.7")
}

func TestWidth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waits(ann, "deny 203.0.0.0/23", "wider than /24")
	w.waits(ann, "deny 2001:db8::/47", "wider than /48")
	w.refuses(root, "remove 203.0.0.0/23", refusal.ErrNothing)
	w.does(ann, "deny 203.0.112.0/24")
	w.does(ann, "deny 2001:db8::/48")
	for _, broad := range []string{"country:FR", "proxy:TOR", "datacenter:aws"} {
		w.waits(root, "deny "+broad, "broad")
	}
	own := newWorld(t, withoutApproval(config.ApproveBroad), func(c *commands.Config) {
		c.Accounts[0].Policy.WidestPrefix.IPv4, c.Accounts[0].Policy.WidestPrefix.IPv6 = 16, 40
	})
	own.does(ann, "deny 203.0.0.0/16 2001:db8::/40")
	own.anyway(ann, "deny 204.0.0.0/12")
	own.refuses(root, "deny 208.0.0.0/11", refusal.ErrGuarded, "wider than the service takes")
	own.refuses(root, "deny 2400::/31", refusal.ErrGuarded, "wider than the service takes")
	own.refuses(ann, "deny country:FR", refusal.ErrAsk, "wafbot sees attacks, never visitors: it can't know whom else country:FR hits")
	own.anyway(ann, "deny country:FR country:DE proxy:TOR datacenter:aws")
	require.Subset(t, own.entries("black"), []string{"DE,FR [0] 4h0m0s", "TOR [0] 4h0m0s", "aws [0] 4h0m0s"})
}

func TestHowLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuses(ann, "deny 203.0.113.7 for=31d", refusal.ErrGuarded, "longest allowed", "30d")
	w.waits(ann, "deny 203.0.113.7 for=forever", "never end")
	w.refuses(ann, "mode 4 block for=5w", refusal.ErrGuarded, "longest")
	w.waits(ann, "patch shop.example.com/login type=sqli part=get.q for=forever")
	w.does(ann, "deny 203.0.113.7 for=30d")

	own := newWorld(t, withoutApproval(config.ApproveForever))
	ch := own.does(ann, "deny 203.0.113.7 for=FOREVER")
	require.Zero(t, ch.Until)
	require.Equal(t, "Deny 203.0.113.7 everywhere forever", ch.Does)
	require.Equal(t, []string{"203.0.113.7/32 [0] forever"}, own.entries("black"))
	require.NotContains(t, textOf(own.reads(ann, "status")), "3022")
	own.nothing(bob, "deny 203.0.113.7", "forever", "Ann")
}

func TestAllowNeedsASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waits(root, "allow 203.0.113.7", "past every protection")
	own := newWorld(t, withoutApproval(config.ApproveAllow), sources(cdn))
	own.does(root, "allow 203.0.113.7 192.0.2.1 10.0.0.1")
	require.Len(t, own.entries("white"), 3, "what is never denied may be allowed")
}

func TestModeOffNeedsASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waits(root, "mode 4 off", "lets everything through")
}

func TestChangesOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesOff })
	w.refuses(root, "deny 203.0.113.7", refusal.ErrGuarded, "policy.changes: off")
	_, err := w.try(root, "status")
	require.NoError(t, err)
}

func TestDryRunSaysWhatWouldBeSent(t *testing.T) {
	t.Parallel()
	for _, changes := range []string{config.ChangesDryRun, ""} {
		w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = changes })
		id := w.attackOn("/login")
		for line, words := range map[string][]string{
			"deny 203.0.113.9 for=2h reason=x": {"Dry run: Deny 203.0.113.9 everywhere for 2 h", "2026-11-20T05:00:00Z", "by Ann", ": x"},
			"patch attack=" + id:               {"Dry run: Patch exactly POST shop.example.com/login", "create vpatch sqli in post.form_urlencoded.login"},
			"contain attack=" + id:             {"Deny 203.0.113.7", "Patch exactly"},
		} {
			res, err := w.try(ann, line)
			require.NoError(t, err)
			require.Equal(t, "dry_run", res.Outcome)
			for _, word := range words {
				require.Contains(t, textOf(res), word)
			}
			require.Equal(t, "dry_run", w.lastAudit().Outcome)
			require.NotEmpty(t, w.lastAudit().After)
		}
		require.Zero(t, w.changesSent())
		require.Empty(t, w.ledger.all())
	}
}
