package commands_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// said is an attack's case, as it is kept.
func (w *world) said(attack string) record.Triage {
	w.t.Helper()
	k, err := w.triage.TriageOf(w.t.Context(), "acme", attack)
	require.NoError(w.t, err)
	return k
}

// writes expects that something was written down, recorded, and nothing sent, and gives back the answer.
func (w *world) writes(who record.Actor, line string, words ...string) string {
	w.t.Helper()
	before := w.changesSent()
	res, err := w.try(who, line)
	require.NoError(w.t, err, line)
	require.Equal(w.t, "done", res.Outcome, textOf(res))
	for _, word := range words {
		require.Contains(w.t, textOf(res), word)
	}
	e := w.lastAudit()
	require.Equal(w.t, "done", e.Outcome)
	require.Equal(w.t, who.ID, e.Actor.ID)
	require.Equal(w.t, res.AttackID, e.Attack)
	require.Equal(w.t, before, w.changesSent())
	return textOf(res)
}

func TestAck(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesOff })
	id := w.attackOn("/login")
	line := "ack attack=" + id[:5]
	require.True(t, w.Changes(w.asks(ann, line).Line), "it must be written down before it is acknowledged")
	require.False(t, w.Confirms(w.asks(ann, line).Line))
	w.writes(ann, "ack attack="+id, "Ann is on it since 2026-11-20 03:00 UTC")
	require.Equal(t, "ack attack="+id, w.lastAudit().Line)
	require.Equal(t, []string{id}, w.ledger.triaged)
	require.Equal(t, 1, w.notified.redrawn)
	require.Empty(t, w.notified.events)

	w.pass(6 * time.Minute)
	w.nothing(ann, line, "Ann is on it since 2026-11-20 03:00 UTC already")
	w.nothing(bob, line, "Ann is on it since 2026-11-20 03:00 UTC", "handover attack="+id+" to=@me")
	require.Equal(t, "nothing", w.lastAudit().Outcome)
	require.Equal(t, ann.ID, w.said(id).Owner.ID)
	require.Len(t, w.ledger.triaged, 1)
	require.Contains(t, textOf(w.reads(eve, "status")), "Ann is on it since 2026-11-20 03:00 UTC · "+id+": POST shop.example.com/login")
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), "Ann is on it since")

	w.refuses(ann, "ack", refusal.ErrUsage, "Missing: attack=")
	in := w.asks(ann, "unack")
	in.Attack = id
	_, err := w.do(in)
	require.NoError(t, err, "in its thread the attack is implied")
	require.Nil(t, w.said(id).Owner)
	in = w.asks(ann, "ack")
	in.Attack = "a0000000"
	_, err = w.do(in)
	require.ErrorContains(t, err, "Unknown attack: a0000000. None has that id in the last 24 h", "its thread is older than what is known")
}

func TestManyAckAtOnce(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		inv := w.asks([]record.Actor{ann, bob}[i%2], "ack attack="+id)
		wg.Go(func() { _, errs[i] = w.do(inv) })
	}
	wg.Wait()
	for i, err := range errs {
		if w.said(id).Owner.ID == []string{ann.ID, bob.ID}[i%2] {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, refusal.ErrNothing)
		}
	}
	require.Len(t, w.ledger.triaged, 1)
}

func TestRelease(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.nothing(ann, "unack attack="+id, "Unacknowledged")
	w.writes(ann, "ack attack="+id)
	w.refuses(bob, "unack attack="+id, refusal.ErrDenied, "Ann is on it since", "only Ann or an admin", "to=@me")
	require.NotNil(t, w.said(id).Owner)
	w.writes(root, "unack attack="+id, "Unacknowledged now; Ann was")
	require.Equal(t, []string{"Unacknowledged now; Ann was, since 2026-11-20 03:00 UTC"}, w.lastAudit().After, "whose it was")
	require.Nil(t, w.said(id).Owner)
}

func TestHandover(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	for _, to := range []string{"<@U2BOB>", "<@U2BOB|bob>", "@U2BOB", "U2BOB"} {
		w.writes(ann, "handover attack="+id+" to="+to, "Bob is on it since", "handed over by Ann")
		events := w.notified.of(record.HandedOver)
		event := events[len(events)-1]
		require.Equal(t, []any{bob.ID, id, w.clock()}, []any{event.Said().To, record.AttackID("acme", event.Subject), event.At})
		require.Equal(t, event, w.ledger.events()[len(w.ledger.events())-1], "saved in the same step")
		w.nothing(ann, "handover attack="+id+" to="+to, "Bob is on it since", "already")
		require.Len(t, w.notified.of(record.HandedOver), len(events), "no user is notified of nothing")
		w.writes(root, "unack attack="+id)
	}
	w.writes(ann, "handover attack="+id+" to=U2BOB")
	w.pass(time.Minute)
	w.writes(ann, "handover attack="+id+" to=@me", "Ann is on it since 2026-11-20 03:01 UTC, taken over")
	require.Equal(t, bob.ID, w.said(id).Owner.From)
	over := w.asks(bob, "handover to=me attack="+id)
	for range 2 { // comes again after a crash
		_, err := w.do(over)
		require.NoError(t, err)
		require.Equal(t, ann.ID, w.said(id).Owner.From)
	}
	w.writes(ann, "handover attack="+id+" to=@me")

	w.writes(bob, `handover legal knows, "ask=Root" attack=`+id+" to=@U3ROOT")
	k := w.said(id)
	require.Equal(t, "legal knows, ask=Root", k.Notes[0].Text)
	require.Equal(t, k.Notes[0].ID, k.Owner.Note)
	require.Equal(t, root.ID, k.Owner.ID)
	require.Equal(t, bob.ID, k.Owner.By.ID)

	for to, words := range map[string]string{"@bob": "Invalid user", "S0ONCALL": "Invalid user", "<!channel>": "Invalid user", "": "Empty: to"} {
		w.refuses(ann, "handover attack="+id+" to="+to, refusal.ErrUsage, words)
	}
	w.refuses(ann, "handover attack="+id, refusal.ErrUsage, "Missing: to=")
	w.refuses(ann, "handover to=U4EVE attack="+id, refusal.ErrGuarded, "Eve has the role viewer", "role responder")
	w.refuses(ann, "handover to=U5NOBODY attack="+id, refusal.ErrGuarded, "Nobody has no role here")
	w.refuses(ann, "handover to=U9 attack="+id, refusal.ErrGuarded, "no full member")
	require.Equal(t, root.ID, w.said(id).Owner.ID)
	w.writes(record.Actor{ID: "cli:ann", Via: record.ViaCLI, Name: "ann"}, "handover to=me attack="+id, "ann is on it since")
	w.members.setFail()
	w.refuses(record.Actor{ID: "cli:root", Via: record.ViaCLI}, "handover to=U2BOB attack="+id, refusal.ErrGuarded, "Slack doesn't say")
}

// notes stores so many more notes of an attack.
func (w *world) notes(attack string, n int) {
	w.t.Helper()
	k := w.said(attack)
	for i := range n {
		k.Notes = append(k.Notes, record.Note{ID: fmt.Sprint("n", i), By: ann, At: w.clock(), Text: fmt.Sprint("seen ", i)})
	}
	w.redis.HSet("{a:acme}:triage", attack, jsonOf(w.t, k))
}

func TestNotes(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	inv := w.asks(ann, "note same  botnet, the the\u202e one attack="+id)
	for range 2 {
		_, err := w.do(inv)
		require.NoError(t, err)
	}
	w.writes(bob, "note “two\nlines” attack="+id, "Note of Bob 2026-11-20 03:00 UTC: two lines")
	notes := w.said(id).Notes
	require.Len(t, notes, 2, "a delivery that comes twice notes once")
	require.Equal(t, "same botnet, the the\u202e one", notes[0].Text)
	require.Equal(t, ann.ID, notes[0].By.ID)
	shown := textOf(w.reads(eve, "attack "+id))
	require.Contains(t, shown, `the the\u{202e} one`)
	require.NotContains(t, textOf(w.reads(eve, "status")), "botnet", "it has no room for notes")

	w.writes(ann, "note "+strings.Repeat("é", 500)+" attack="+id)
	w.refuses(ann, "note "+strings.Repeat("é", 501)+" attack="+id, refusal.ErrUsage, "501 characters: 500 at most")
	w.refuses(ann, "note '  ' attack="+id, refusal.ErrUsage, "Empty: the note")
	w.refuses(ann, "note attack="+id, refusal.ErrUsage, "Missing: text")
	w.writes(ann, "note x attack="+id)
	w.writes(ann, "note x attack="+id)
	require.Len(t, w.said(id).Notes, 4, "the same words, typed twice because the answer was slow")
	w.pass(time.Minute)
	w.notes(id, 95)
	w.writes(ann, "note x attack="+id)
	w.refuses(bob, "note x attack="+id, refusal.ErrGuarded, "100 notes already")
	w.does(ann, "deny 203.0.113.7 attack="+id)
	lines := w.reads(eve, "attack "+id).Lines
	require.Contains(t, lines[len(lines)-102].String(), "Deny 203.0.113.7", "notes take the room of nothing else")
	require.Contains(t, lines[len(lines)-1].String(), "same botnet", "the oldest is the first that there is no room for")
}

func TestVerdict(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.writes(ann, "verdict FALSE_positive attack="+id, "Verdict: false positive, by Ann 2026-11-20 03:00 UTC")
	w.writes(bob, "verdict test attack="+id)
	require.Equal(t, record.Verdict{Is: "test", By: bob, At: w.clock()}, *w.said(id).Verdict)
	for _, line := range []string{"status", "attack " + id} {
		require.Contains(t, textOf(w.reads(eve, line)), "Verdict: test, by Bob")
	}
	require.Equal(t, "test", w.program("attack " + id)["data"].(map[string]any)["triage"].(map[string]any)["verdict"].(map[string]any)["is"])
	w.refuses(ann, "verdict maybe attack="+id, refusal.ErrUsage, "real, false_positive, test")
}

func TestActingAcknowledges(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.does(ann, "deny 203.0.113.99")
	for _, kept := range []string{"triage", "mutes", "protected", "locked", "approvals", "permission", "drill"} {
		require.False(t, w.redis.Exists("{a:acme}:"+kept), "for no attack")
	}
	inv := w.asks(ann, "deny attack="+id)
	_, err := w.do(inv)
	require.NoError(t, err)
	require.Equal(t, record.Owner{ID: ann.ID, Team: ann.Team, Name: "Ann", Since: w.clock(), By: ann}, *w.said(id).Owner)
	w.does(bob, "patch attack="+id)
	require.Equal(t, ann.ID, w.said(id).Owner.ID, "who was first stays")
	w.writes(ann, "unack attack="+id)
	_, err = w.do(inv)
	require.NoError(t, err)
	require.Nil(t, w.said(id).Owner, "nor does a redelivery bring her back")
	w.does(bob, "undo")
	require.Nil(t, w.said(id).Owner, "to undo is not to be on it")
}

func TestActingThatDoesNotAcknowledge(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesDryRun })
	id := w.attackOn("/login")
	_, err := w.try(ann, "deny attack="+id)
	require.NoError(t, err)
	require.Nil(t, w.said(id).Owner, "a dry run")

	w = newWorld(t)
	id = w.attackOn("/login")
	w.fault("POST /v4/ip_rules", "status:403", 1)
	_, err = w.try(ann, "deny attack="+id)
	require.ErrorIs(t, err, refusal.ErrService)
	require.Nil(t, w.said(id).Owner, "nothing was done")
	w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n == 2 } })
	w.does(ann, "deny attack="+id+" reason=again")
	require.Len(t, w.listed("black"), 1, "a claim that can't be written down fails no change")
	require.Contains(t, w.log.String(), "acknowledge by acting")
}

func TestTriageWithoutTheStore(t *testing.T) {
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{App: 4, Path: "/login"})
	w.writes(ann, "ack attack="+id)
	w.writes(ann, "mute type=xss")
	w.ledger.set(func(l *ledger) { l.readFail = true })
	for _, line := range []string{"attack " + id, "status"} {
		require.NotContains(t, textOf(w.reads(eve, line)), "Ann")
	}
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "Whether it is muted is unknown")
	for _, line := range []string{"unack attack=" + id, "unmute type=xss"} {
		w.refuses(ann, line, refusal.ErrAway, "Redis")
	}
	w.ledger.set(func(l *ledger) { l.readFail, l.saveFail = false, func(int) bool { return true } })
	for _, line := range []string{"unack attack=" + id, "unmute type=xss"} {
		w.refuses(ann, line, refusal.ErrAway, "Redis")
	}
}

func TestStatusIsCutWhereManyAreOnMany(t *testing.T) {
	w := newWorld(t)
	for i := range 12 {
		w.writes(ann, "ack attack="+w.attackOn("/p"+itoa(int64(i))))
	}
	short, all := textOf(w.reads(eve, "status")), textOf(w.reads(eve, "status --all"))
	require.Equal(t, 10, strings.Count(short, "Ann is on it"))
	require.Equal(t, 1, strings.Count(short, "… and 2 more"))
	require.Equal(t, 12, strings.Count(all, "Ann is on it"))
	require.Equal(t, 12, strings.Count(textOf(w.reads(anyone, "status --all")), "Ann is on it"))
	for i := range 30 {
		w.writes(ann, "mute type=t"+itoa(int64(i)))
	}
	listed := map[string]int{}
	for _, page := range w.turned(eve, "status --all") {
		require.LessOrEqual(t, len(page), 25, "whatever is muted")
		for _, l := range page {
			listed[l]++
		}
	}
	require.Len(t, listed, 12+30)
	for l, times := range listed {
		require.Equal(t, 1, times, l)
	}
}

// mutes are what is kept.
func (w *world) mutes() []record.Mute {
	w.t.Helper()
	all, err := w.triage.Mutes(w.t.Context(), "acme")
	require.NoError(w.t, err)
	return all
}

func TestMute(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.writes(ann, "mute attack="+id, "Muted: attack="+id+" until 2026-11-20 04:00 UTC, by Ann", "Incidents are posted all the same")
	w.writes(ann, "mute source=203.0.113.0/24 app=Shop for=2h", "source=203.0.113.0/24 app=4 until 2026-11-20 05:00 UTC")
	w.writes(bob, "mute type=SQLI", "type=sqli until")
	require.Empty(t, w.lastAudit().Attack)
	all := w.mutes()
	require.Len(t, all, 3)
	for _, m := range all {
		require.Regexp(t, `^m[0-9a-z]{8}$`, m.ID)
	}
	require.Equal(t, record.Mute{ID: all[1].ID, Account: "acme", Source: netip.MustParsePrefix("203.0.113.0/24"), App: 4, Until: w.clock().Add(2 * time.Hour), By: ann}, all[1])
	require.Contains(t, textOf(w.reads(eve, "status")), "Muted, incidents excepted: 3\n")
	require.Contains(t, textOf(w.reads(eve, "status")), "type=sqli until 2026-11-20 04:00 UTC, by Bob "+all[2].ID)
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "Muted: attack="+id)
	require.Len(t, w.program("status")["data"].([]any)[0].(map[string]any)["muted"], 3)

	w.nothing(bob, "mute type=sqli for=30m", "Muted already", "by Bob")
	w.writes(ann, "mute type=sqli for=90m", "until 2026-11-20 04:30 UTC, by Ann")
	require.Len(t, w.mutes(), 3, "of each there is one")

	w.writes(bob, "unmute source=203.0.113.0/24 app=4", "No longer muted: source=203.0.113.0/24 app=4")
	w.writes(bob, "unmute "+all[0].ID[:5], "No longer muted: attack="+id)
	w.nothing(bob, "unmute source=203.0.113.0/24", "no mute on acme")
	w.pass(90 * time.Minute)
	require.NotContains(t, textOf(w.reads(eve, "status")), "Muted")
	w.nothing(bob, "unmute type=sqli")
	w.writes(bob, "mute type=xss")
	require.Len(t, w.mutes(), 1, "what is over is deleted")
	require.Equal(t, []string{id, id}, w.ledger.redrawn, "its card says that it is muted, and no longer")
}

// No mute keeps an incident back, so none is made that says it does.
func TestAnIncidentIsNotMuted(t *testing.T) {
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{}})
	w.nothing(ann, "mute attack="+id, "is an incident", "always posted")
	require.Empty(t, w.mutes())
}

func TestMuteNeedsOneThingAndAnEnd(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveForever))
	id := w.attackOn("/login")
	for line, words := range map[string]string{
		"mute": "Missing: one of attack=, source= and type=, and only one", "unmute": "Missing: one of attack=, source= and type=, and only one", "mute app=4": "Missing: one of attack=, source= and type=, and only one", "mute type=sqli source=203.0.113.7": "Missing: one of attack=, source= and type=, and only one", "mute type=sqli attack=" + id: "Missing: one of attack=, source= and type=, and only one",
		"mute app=4 attack=" + id: "app= goes with", "mute source=country:FR": "Invalid IP address or range: country:FR", "mute source=203.0.113.7/24": "Perhaps 203.0.113.0/24", "mute type='a b'": "Invalid type of attack", "mute type=sql": "Invalid type of attack: sql. Example: type=sqli",
		"mute type=sqli for=forever": "Invalid duration: forever. A mute ends. Example: for=1h", "mute type=sqli for=soon": "Invalid duration",
	} {
		w.refuses(ann, line, refusal.ErrUsage, words)
	}
	w.refuses(ann, "mute type=sqli for=31d", refusal.ErrGuarded, "longer than the longest")
	require.Empty(t, w.mutes())
}

func TestAMuteInAThread(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	in := func(line string) {
		inv := w.asks(ann, line)
		inv.Attack = id
		res, err := w.do(inv)
		require.NoError(t, err, line)
		require.Equal(t, "done", res.Outcome)
	}
	in("mute")
	in("mute type=sqli")
	require.Empty(t, w.lastAudit().Attack)
	require.Equal(t, "mute type=sqli", w.lastAudit().Line)
	all := w.mutes()
	require.Equal(t, []string{id, ""}, []string{all[0].Attack, all[1].Attack})
	in("unmute " + all[1].ID)
	in("unmute")
	require.Empty(t, w.mutes())
}

func TestSoManyMutesAreKept(t *testing.T) {
	w := newWorld(t)
	w.writes(ann, "mute source=198.51.100.7 for=1h")
	kept := w.mutes()
	for i := range 198 {
		kept = append(kept, record.Mute{ID: fmt.Sprintf("m%08d", i), Account: "acme", Type: fmt.Sprint("t", i), Until: w.clock().Add(time.Hour), By: bob})
	}
	require.NoError(t, w.redis.Set("{a:acme}:mutes", jsonOf(t, kept)))
	w.writes(ann, "mute source=198.51.100.199 for=1h")
	w.refuses(ann, "mute type=xss for=1h", refusal.ErrGuarded, "200 mutes are in force already", "unmute")
	_, err := w.try(ann, "mute source=198.51.100.7 for=2h")
	require.NoError(t, err, "one of them, for longer")
	w.pass(61 * time.Minute)
	w.reads(ann, "mute type=xss for=1h")
}

// drills gives the account two places where its routes post, one with a pager.
func drills(c *commands.Config) {
	incidents := config.Match{Kind: config.OneOrMore{config.KindIncident}}
	page := &config.Page{URL: "https://pager.example.com"}
	c.Accounts[0].Channel = "C0WAF"
	c.Accounts[0].Routes = []config.Route{{Match: incidents, Channel: "C0INCID", Mention: "S0ONCALL", Page: page}}
}

// drill is what is kept.
func (w *world) drill() record.Drill {
	w.t.Helper()
	d, err := w.store.Triage.Drill(w.t.Context(), "acme")
	require.NoError(w.t, err)
	return d
}

// serves has the world's replica live, until the test ends or it is stopped.
func (w *world) serves() (stop func()) {
	ctx, cancel := context.WithCancel(behind(w.t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.store.Replicas.Beat(ctx)
	}()
	require.Eventually(w.t, func() bool {
		err := w.store.Replicas.Hear(ctx)
		n, _ := w.store.Replicas.Living()
		return err == nil && n == 1
	}, time.Minute, time.Second)
	stop = func() {
		cancel()
		<-ended
	}
	w.t.Cleanup(stop)
	return stop
}

func TestADrillIsAcknowledged(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.serves()
		_, err := w.try(eve, "drill")
		require.ErrorIs(t, err, refusal.ErrDenied)
		w.writes(ann, "drill", "Drill begun, with 2 test cards", "C0INCID", "after 5 min")
		d := w.drill()
		require.Regexp(t, `^d[0-9a-z]{8}$`, d.ID)
		require.False(t, d.Page)
		require.Equal(t, []string{"drill " + d.ID + "-0", "drill " + d.ID + "-1", "drill " + d.ID}, w.notified.ids())
		w.nothing(bob, "drill", "A drill waits", "Drill of acme, asked for by Ann", "C0INCID (mentions S0ONCALL), its pager is not called: nobody has acknowledged it yet",
			"C0WAF: nobody has acknowledged it yet", "Not tried: denying and undoing, approval, storms, and the pager: drill page=yes calls it for real")

		time.Sleep(12 * time.Second)
		_, err = w.try(eve, "drill ack="+d.ID+"-1")
		require.ErrorIs(t, err, refusal.ErrDenied)
		w.writes(bob, "drill ack="+d.ID+"-1", "Thank you: acknowledged after 12 s")
		w.nothing(bob, "drill ack="+d.ID+"-1", "acknowledged this test card already")
		_, err = w.try(ann, "drill ack="+d.ID+"-1")
		require.ErrorContains(t, err, "Bob was faster")
		w.nothing(ann, "drill ack="+d.ID+"-2", "That drill is over")
		w.nothing(ann, "drill ack=d00000000-1", "That drill is over")
		w.nothing(ann, "drill", "C0WAF: acknowledged by Bob after 12 s")

		w.writes(ann, "drill ack="+d.ID+"-0", "Thank you")
		require.Equal(t, []string{"drill " + d.ID + "-1 acknowledged", "drill " + d.ID + "-0 acknowledged"}, w.notified.ids()[3:])
		require.Equal(t, d.Cards[0].Channel, w.drill().Cards[0].Channel)
		w.writes(ann, "drill", "2 test cards")
		require.NotEqual(t, d.ID, w.drill().ID, "nobody is missing in the one before")
		require.Zero(t, w.changesSent())
	}, drills)
}

func TestADrillThatNobodyAcknowledges(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		stop := w.serves()
		w.writes(ann, "drill page=yes")
		d := w.drill()
		require.True(t, d.Page)
		w.nothing(ann, "drill", "C0INCID (mentions S0ONCALL), its pager is called: nobody", "If a pager can't be called, a message in the account's channel says so")
		stop() // nobody needs its beats meanwhile
		time.Sleep(record.DrillFor)
		stop = w.serves()
		w.writes(bob, "drill ack="+d.ID+"-1", "acknowledged after 5 min")
		w.writes(ann, "drill")
		require.NotEqual(t, d.ID, w.drill().ID)
		_, err := w.try(ann, "drill page=no")
		require.ErrorIs(t, err, refusal.ErrUsage)
		stop()
		time.Sleep(record.DrillFor)
		w.nothing(ann, "drill", "No wafbot serve is running")
	}, drills)
}
