package commands_test

import (
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

func TestNotes(t *testing.T) {
	t.Parallel()
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
	for range 96 {
		w.pass(time.Minute)
		w.writes(ann, "note x attack="+id)
	}
	w.refuses(bob, "note x attack="+id, refusal.ErrGuarded, "100 notes already")
	w.does(ann, "deny 203.0.113.7 attack="+id)
	lines := w.reads(eve, "attack "+id).Lines
	require.Contains(t, lines[len(lines)-102].String(), "Deny 203.0.113.7", "notes take the room of nothing else")
	require.Contains(t, lines[len(lines)-1].String(), "same botnet", "the oldest is the first that there is no room for")
}

func TestVerdict(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
