package commands_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
	"github.com/wafbot/wafbot/poller"
)

// ledger is the store's, which a test has fail or lose a claim, and which notes what is written through it.
type ledger struct {
	*store.Ledger

	w  *world
	mu sync.Mutex

	saves     int
	beginFail bool
	readFail  bool             // of whatever is read, but the audit log
	saveFail  func(n int) bool // whether the n-th save fails; nil: none
	loseAt    int              // the save before which somebody else writes, and takes all claims over; 0: none
	meanwhile func()           // what happens before

	perhaps    int // how often a change of unknown outcome was saved, which is an event
	judged     []record.Judgement
	triaged    []string // attacks whose triage was saved
	announced  []string // the ids of events that were saved
	redrawn    []string // attacks whose cards a mute, or what was protected, has drawn again
	lost       []record.PermissionLoss
	dueSaved   []change.DueDecision // people are notified of them
	claims     map[*claim]*replica  // by whom they were claimed
	order      []string             // changes, as they were claimed first
	overlapped []string             // claims of what one in hand touches, or denials of what was protected by then
}

// Begin implements commands.Ledger.
func (l *ledger) Begin(ctx context.Context, account, attack string) (record.Basis, commands.Draft, error) {
	if lost, unanswered := replicaOf(ctx).meet(l); lost || unanswered || l.fails(&l.beginFail) {
		return record.Basis{}, commands.Draft{}, errAway
	}
	b, d, err := l.Ledger.Begin(ctx, account, attack, false)
	noted := &draft{Draft: d, ledger: l, account: account}
	return b, commands.Draft{ChangeSaver: noted, TriageSaver: noted, AccountSaver: noted, Claimer: noted}, err
}

// Resume implements commands.Ledger.
func (l *ledger) Resume(ctx context.Context, ch record.Change) (context.Context, commands.Claim, error) {
	if l.fails(&l.beginFail) {
		return nil, nil, errAway
	}
	held, c, err := l.Ledger.Resume(ctx, ch, false)
	return l.claimed(ctx, held, c, ch, err)
}

// claimed notes a claim that was just taken.
func (l *ledger) claimed(
	ctx, held context.Context, c commands.Claim, ch record.Change, err error,
) (context.Context, commands.Claim, error) {
	if err != nil {
		return nil, nil, err
	}
	noted := &claim{Claim: c, ledger: l, key: claimKey(ch.Account, ch.ClaimedAs())}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims[noted] = replicaOf(ctx)
	return held, noted, nil
}

func claimKey(account, id string) string { return "{a:" + account + "}:claim:" + id }

// saveJudged saves what was judged of changes.
func (l *ledger) saveJudged(ctx context.Context, account string, all []record.Judgement, events ...record.Event) error {
	if len(all) == 0 {
		return nil
	}
	u := poller.Update{Judged: all, Events: events}
	err := l.w.owning(func() error { return l.w.store.Attacks.Save(ctx, account, u) })
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.judged = append(l.judged, all...)
		l.announce(events)
	}
	return err
}

// announce notes events that were saved. The caller holds mu.
func (l *ledger) announce(events []record.Event) {
	for _, e := range events {
		l.announced = append(l.announced, e.ID)
	}
}

// save is a save through the ledger. It is noted if it succeeds.
func (l *ledger) save(
	ctx context.Context, do func(ctx context.Context) error, events []record.Event, note func(),
) error {
	lost, unanswered := replicaOf(ctx).meet(l)
	if lost {
		return errAway
	}
	if unanswered { // whoever asked is dead, and what is sent takes effect
		sent, end := context.WithCancel(context.WithoutCancel(ctx))
		defer end() // nobody renews what is claimed
		ctx = sent
	}
	if l.failsNow() {
		return errAway
	}
	if err := do(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.announce(events)
	if note(); unanswered {
		return errAway
	}
	return nil
}

// failsNow counts a save, and reports whether it fails. Before that somebody else may write.
func (l *ledger) failsNow() bool {
	l.mu.Lock()
	l.saves++
	n, lost, meanwhile, fails := l.saves, l.loseAt == l.saves, l.meanwhile, l.saveFail
	if lost {
		l.loseAt = 0
	}
	l.mu.Unlock()
	if lost {
		require.NoError(l.w.t, l.w.redis.Set("{a:acme}:revision", "another's"))
		l.loseClaims(func(*replica) bool { return true })
		meanwhile()
	}
	return fails != nil && fails(n)
}

// loseClaims has claims of some replicas run out.
func (l *ledger) loseClaims(of func(r *replica) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, r := range l.claims {
		if of(r) {
			l.w.redis.Del(c.key)
			delete(l.claims, c)
		}
	}
}

// claim is the store's, and notes what it does.
type claim struct {
	commands.Claim
	*ledger
	key string
}

// SaveChanges implements commands.Claim.
func (c *claim) SaveChanges(
	ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change,
) (n int64, err error) {
	err = c.save(ctx, func(ctx context.Context) (err error) {
		n, err = c.Claim.SaveChanges(ctx, entry, events, all...)
		return err
	}, events, func() { c.noteChanges(all) })
	return n, err
}

// noteChanges notes changes that were saved. The caller holds mu.
func (l *ledger) noteChanges(all []record.Change) {
	for _, ch := range all {
		if ch.State == record.StateBegun && ch.Fault != "" {
			l.perhaps++
		}
	}
}

// Release implements commands.Claim.
func (c *claim) Release(ctx context.Context) {
	if lost, _ := replicaOf(ctx).meet(c.ledger); lost {
		return // its replica is dead: the claim runs out
	}
	c.mu.Lock()
	delete(c.claims, c)
	c.mu.Unlock()
	c.Claim.Release(ctx)
}

// draft is the store's, and notes what it does.
type draft struct {
	commands.Draft
	*ledger
	account string
}

// Claim implements commands.Claimer.
func (d *draft) Claim(ctx context.Context, all ...record.Change) (held context.Context, c commands.Claim, err error) {
	err = d.save(ctx, func(ctx context.Context) (err error) {
		d.w.claiming.Lock() // the order of claims is that of their answers
		defer d.w.claiming.Unlock()
		wrong := d.overlapping(all) // whoever writes from here on has the claim fail
		if held, c, err = d.Draft.Claim(ctx, all...); err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, ch := range all {
				d.order = append(d.order, ch.ID)
			}
			d.overlapped = append(d.overlapped, wrong...)
		}
		return err
	}, nil, func() { d.noteChanges(all) })
	return d.claimed(ctx, held, c, all[0], err)
}

// overlapping is what of changes that are about to be claimed touches what is in hand, or denies what is protected.
func (d *draft) overlapping(claimed []record.Change) (wrong []string) {
	kept, err := d.w.store.Triage.AccountContext(behind(d.w.t), d.account)
	require.NoError(d.w.t, err)
	changes := d.all()
	for _, ch := range claimed {
		for _, other := range changes {
			if other.State == record.StateBegun && record.Overlap(ch.Targets(), other.Targets()) {
				wrong = append(wrong, ch.ID+" was claimed beside "+other.ID)
			}
		}
		denies := slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Kind == record.AddEntry && s.Entry.List == "black" })
		for _, p := range kept.Protected {
			if denies && ch.Undoes == "" && record.Overlap([]record.Target{record.RangeTarget(p.Range)}, ch.Targets()) {
				wrong = append(wrong, ch.ID+" denies what is protected: "+p.Range.String())
			}
		}
	}
	return wrong
}

// SaveChanges implements commands.ChangeSaver.
func (d *draft) SaveChanges(
	ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change,
) (n int64, err error) {
	if len(all) == 0 {
		return 0, nil
	}
	err = d.save(ctx, func(ctx context.Context) (err error) {
		n, err = d.Draft.SaveChanges(ctx, entry, events, all...)
		return err
	}, events, func() { d.noteChanges(all) })
	return n, err
}

// SaveDue implements commands.ChangeSaver.
func (d *draft) SaveDue(ctx context.Context, events []record.Event, all ...change.DueDecision) error {
	return d.save(ctx, func(ctx context.Context) error { return d.Draft.SaveDue(ctx, events, all...) }, events, func() {
		for _, decision := range all {
			if decision.Asks || decision.Late || decision.Ended || decision.Listed {
				d.dueSaved = append(d.dueSaved, decision)
			}
		}
	})
}

// SaveRequest implements commands.ChangeSaver.
func (d *draft) SaveRequest(
	ctx context.Context, entry *record.AuditEntry, q record.ApprovalRequest, events ...record.Event,
) (n int64, err error) {
	err = d.save(ctx, func(ctx context.Context) (err error) {
		n, err = d.Draft.SaveRequest(ctx, entry, q, events...)
		return err
	}, events, func() {})
	return n, err
}

// SaveTriage implements commands.TriageSaver.
func (d *draft) SaveTriage(ctx context.Context, all map[string]record.Triage, events ...record.Event) error {
	return d.save(ctx, func(ctx context.Context) error { return d.Draft.SaveTriage(ctx, all, events...) }, events, func() {
		d.triaged = slices.AppendSeq(d.triaged, maps.Keys(all))
	})
}

// SaveMutes implements commands.TriageSaver.
func (d *draft) SaveMutes(ctx context.Context, all []record.Mute, attacks ...string) error {
	return d.save(ctx, func(ctx context.Context) error { return d.Draft.SaveMutes(ctx, all, attacks...) }, nil, func() {
		d.redrawn = append(d.redrawn, attacks...)
	})
}

// SaveProtected implements commands.TriageSaver.
func (d *draft) SaveProtected(ctx context.Context, all []record.Protected, attacks ...string) error {
	return d.save(ctx, func(ctx context.Context) error {
		return d.Draft.SaveProtected(ctx, all, attacks...)
	}, nil, func() {
		d.redrawn = append(d.redrawn, attacks...)
	})
}

// SaveDrill implements commands.TriageSaver.
func (d *draft) SaveDrill(ctx context.Context, drill record.Drill, events ...record.Event) error {
	return d.save(ctx, func(ctx context.Context) error {
		return d.Draft.SaveDrill(ctx, drill, events...)
	}, events, func() {})
}

// SaveLocked implements commands.AccountSaver.
func (d *draft) SaveLocked(ctx context.Context, at time.Time) error {
	return d.save(ctx, func(ctx context.Context) error { return d.Draft.SaveLocked(ctx, at) }, nil, func() {})
}

// SavePermissionLoss implements commands.AccountSaver.
func (d *draft) SavePermissionLoss(ctx context.Context, t record.PermissionLoss, events ...record.Event) error {
	return d.save(ctx, func(ctx context.Context) error {
		return d.Draft.SavePermissionLoss(ctx, t, events...)
	}, events, func() {
		d.lost = append(d.lost, t)
	})
}

// lose has somebody else write before the n-th save from now on, and its claim be lost.
func (l *ledger) lose(n int, meanwhile func()) {
	l.set(func(l *ledger) { l.loseAt, l.meanwhile = n, meanwhile })
}

func (l *ledger) fails(flag *bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *flag
}

// set lets methods fail from now on.
func (l *ledger) set(f func(l *ledger)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
	l.saves = 0
}

// all are the changes of all accounts, the newest first.
func (l *ledger) all() (all []record.Change) {
	for _, a := range l.w.cfg.Accounts {
		some, err := l.Changes(behind(l.w.t), a.Name)
		require.NoError(l.w.t, err)
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b record.Change) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return all
}

// only is the one change there is.
func (l *ledger) only() (ch record.Change) {
	for _, ch = range l.all() {
		break
	}
	return ch
}

// put stores a change as it is, behind the store's back.
func (l *ledger) put(ch record.Change) {
	l.w.redis.HSet("{a:"+ch.Account+"}:changes", ch.ID, jsonOf(l.w.t, ch))
}

// forget drops all changes, as an emptied Redis does.
func (l *ledger) forget() { l.w.redis.Del("{a:acme}:changes") }

func (l *ledger) change(id string) record.Change {
	for _, c := range l.all() {
		if c.ID == id {
			return c
		}
	}
	return record.Change{}
}

// events are those that are stored, in the order in which they were saved.
func (l *ledger) events() []record.Event {
	var all []record.Event
	for _, a := range l.w.cfg.Accounts {
		some, err := l.w.store.Outbox.Waiting(behind(l.w.t), a.Name)
		require.NoError(l.w.t, err)
		all = append(all, some...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(all, func(a, b record.Event) int {
		return slices.Index(l.announced, a.ID) - slices.Index(l.announced, b.ID)
	})
	return all
}

// takeDue takes the decisions of a kind of which people were notified.
func (l *ledger) takeDue(of func(change.DueDecision) bool) (found []change.DueDecision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, decision := range l.dueSaved {
		if of(decision) {
			found = append(found, decision)
		}
	}
	l.dueSaved = nil
	return found
}

// auditLog is the store's, which a test has fail.
type auditLog struct {
	*store.Audit

	w    *world
	mu   sync.Mutex
	fail bool
}

func (a *auditLog) fails() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fail
}

func (a *auditLog) setFail(fail bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = fail
}

// all are the entries of all accounts that can be read, the oldest first.
func (a *auditLog) all() (all []record.AuditEntry) {
	for _, account := range a.w.cfg.Accounts {
		for e, err := range a.Trail(behind(a.w.t), account.Name, time.Time{}) {
			if !errors.Is(err, record.ErrBadEntry) {
				require.NoError(a.w.t, err)
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b record.AuditEntry) int { return a.At.Compare(b.At) })
	return all
}

// spoil has the n-th entry be one that can't be read.
func (a *auditLog) spoil(n int) {
	const key = "{a:acme}:audit"
	all, err := a.w.redis.Stream(key)
	require.NoError(a.w.t, err)
	a.w.redis.Del(key)
	for i, e := range all {
		if i == n {
			e.Values[slices.Index(e.Values, "entry")+1] = "rubbish"
		}
		_, err := a.w.redis.XAdd(key, e.ID, e.Values)
		require.NoError(a.w.t, err)
	}
}

// line is the way to the world's Redis. What a test has fail isn't sent.
type line struct{ *world }

// DialHook implements redis.Hook.
func (l line) DialHook(redis.DialHook) redis.DialHook {
	return l.wire.Dial
}

// ProcessHook implements redis.Hook.
func (l line) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if l.cut(ctx, cmd) {
			return errAway
		}
		moment(ctx)
		defer moment(ctx)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (l line) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if l.cut(ctx, cmds...) {
			return errAway
		}
		moment(ctx)
		defer moment(ctx)
		return next(ctx, cmds)
	}
}

// cut reports whether commands aren't sent. Before others Redis is told the time.
func (l line) cut(ctx context.Context, cmds ...redis.Cmder) bool {
	l.redis.SetTime(l.Now())
	if ctx.Value(behindKey{}) != nil {
		return false
	}
	return slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool {
		switch cmd.Name() {
		case "xrange":
			return l.audit.fails()
		case "eval", "evalsha":
			return l.audit.fails() && slices.ContainsFunc(cmd.Args(), func(word any) bool {
				key, ok := word.(string)
				return ok && strings.HasSuffix(key, "}:audited")
			})
		case "get", "hget", "hmget", "hgetall", "hvals", "hscan", "zrange":
			return l.ledger.fails(&l.ledger.readFail)
		}
		return false
	})
}

type behindKey struct{}

// behind is a context of what a test itself reads, also at its end.
func behind(t *testing.T) context.Context {
	return context.WithValue(context.WithoutCancel(t.Context()), behindKey{}, true)
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// openStore opens the world's store on a Redis of its own.
func (w *world) openStore() {
	w.redis = miniredis.NewMiniRedis()
	w.t.Cleanup(w.redis.Close)
	w.wire = proxytest.New(w.redis.Dial) // a mere pipe has no room for what is sent before an answer is read
	w.t.Cleanup(w.wire.Close)
	w.redis.ClockTTL(w.now.IsZero())
	w.clocks = clock.New()
	if !w.now.IsZero() {
		w.moves(0)
	}
	s, err := store.Open(store.Config{
		Address: address.Options{URL: "redis://127.0.0.1:6379/0"}, Clocks: w.clocks, Timeout: time.Minute,
	})
	require.NoError(w.t, err)
	s.AddHook(line{w})
	w.t.Cleanup(func() { require.NoError(w.t, s.Close()) })
	w.store, w.ledger = s, &ledger{Ledger: s.Ledger, w: w, claims: map[*claim]*replica{}}
	w.audit, w.asked, w.triage = &auditLog{Audit: s.Audit, w: w}, s.Approvals, s.Triage
}

// beginState begins the state of all accounts.
func (w *world) beginState() {
	for _, a := range w.cfg.Accounts {
		_, err := w.store.Epochs.Restore(w.t.Context(), a.Name, store.Rebuilt{Epoch: store.NewEpoch()})
		require.NoError(w.t, err)
	}
}

// owning does something while the world's replica lives and owns the account.
func (w *world) owning(do func() error) (err error) {
	live, leave := context.WithCancel(behind(w.t))
	more, stop := context.WithCancel(live)
	var beats sync.WaitGroup
	beats.Go(func() { _ = w.store.Replicas.Beat(live) })
	own := func(context.Context, context.Context, string, <-chan store.Pending) {
		defer stop()
		err = do()
	}
	_ = w.store.Replicas.Share(live, more, []string{"acme"}, own)
	leave()
	beats.Wait()
	return err
}

// polled stores what a poll found.
func (w *world) polled(u poller.Update) {
	w.t.Helper()
	require.NoError(w.t, w.owning(func() error { return w.store.Attacks.Save(behind(w.t), "acme", u) }))
}

// knows has attacks be stored as a poll saw them.
func (w *world) knows(all ...apiclient.Attack) {
	w.t.Helper()
	u := poller.Update{Attacks: map[string]record.AttackState{}}
	for _, a := range all {
		u.Attacks[a.ID] = record.AttackState{Attack: a}
	}
	w.polled(u)
}

// shows has an attack of the service be stored in a state, as its card shows it.
func (w *world) shows(id string, s record.AttackState) {
	w.t.Helper()
	s.Attack = w.served(id)
	w.polled(poller.Update{Attacks: map[string]record.AttackState{s.Attack.ID: s}})
}

// served is an attack as the service has it.
func (w *world) served(id string) apiclient.Attack {
	w.t.Helper()
	for page, err := range w.cfg.Services["acme"].Attacks(w.t.Context(), apiclient.AttackFilter{}) {
		require.NoError(w.t, err)
		for _, a := range page.Attacks {
			if record.AttackID("acme", a.ID) == id {
				return a
			}
		}
	}
	w.t.Fatalf("no attack %s", id)
	return apiclient.Attack{}
}

// missed stores times in which nothing was watched.
func (w *world) missed(gaps ...record.Outage) {
	w.t.Helper()
	for _, gap := range gaps {
		w.polled(poller.Update{Gap: &gap})
	}
}

// members is the workspace.
type members struct {
	mu     sync.Mutex
	full   map[string]string // user: name
	broken bool
	groups map[string][]string // by the group's id, the users
	away   bool                // the groups can't be looked up
	asked  int                 // how often the groups were
}

func newMembers() *members {
	m := &members{full: map[string]string{"U5NOBODY": "Nobody"}}
	for _, a := range []record.Actor{ann, bob, root, eve} {
		m.full[a.ID] = a.Name
	}
	return m
}

func (m *members) Member(_ context.Context, team, user string) (name, workspace string, full bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if team != "T1" && team != "" {
		return "", "", false, nil
	}
	if m.broken {
		return "", team, false, errAway
	}
	name, full = m.full[user]
	return name, "T1", full, nil
}

func (m *members) add(who record.Actor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full[who.ID] = who.Name
}

func (m *members) drop(user string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.full, user)
}

func (m *members) Groups(_ context.Context, user string, of []string) (in []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	for _, id := range of {
		if slices.Contains(m.groups[id], user) {
			in = append(in, id)
		}
	}
	if m.away {
		err = errAway
	}
	return in, err
}

func (m *members) set(f func(m *members)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

func (m *members) setFail() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = true
}

// router routes attacks by calling itself.
type router func(ctx context.Context, account string, a apiclient.Attack) (call.Routing, error)

func (r router) Routing(ctx context.Context, account string, a apiclient.Attack) (call.Routing, error) {
	return r(ctx, account, a)
}

// links says where cards are by calling itself.
type links func(ctx context.Context, account string, attacks []string) map[string]string

func (l links) CardLinks(ctx context.Context, account string, attacks []string) map[string]string {
	return l(ctx, account, attacks)
}

// polling says how polling goes by calling itself.
type polling func(account string) (call.PollHealth, bool)

func (p polling) Health(account string) (call.PollHealth, bool) { return p(account) }
