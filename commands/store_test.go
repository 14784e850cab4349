package commands_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// ledger is the store's, with what a test reads of it, and how it fails. line notes what is written.
type ledger struct {
	*store.Ledger

	w  *world
	mu sync.Mutex

	bare      bool // nothing is noted, and nothing fails
	saves     int
	beginFail bool
	unread    string           // the end of the key of what can't be read; "": of none
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
	dueSaved   []record.DueDecision // people are notified of them
	claims     map[string]*replica  // by their keys: by whom they were claimed
	order      []string             // changes, as they were claimed first
	overlapped []string             // claims of what one in hand touches, or denials of what was protected by then
}

func claimKey(account, id string) string { return "{a:" + account + "}:claim:" + id }

// saveJudged saves what was judged of changes.
func (l *ledger) saveJudged(ctx context.Context, account string, all []record.Judgement, events ...record.Event) error {
	if len(all) == 0 {
		return nil
	}
	u := record.PollUpdate{Judged: all, Events: events}
	err := l.w.owning(func() error { return l.w.store.Attacks.Save(ctx, account, u) })
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.judged = append(l.judged, all...)
		for _, e := range events {
			l.announced = append(l.announced, e.ID)
		}
	}
	return err
}

// begin is a read of what changes go by, or a try to resume one.
func (l *ledger) begin(ctx context.Context, do func(context.Context) error) error {
	if lost, unanswered := replicaOf(ctx).meet(l); lost || unanswered || l.fails(&l.beginFail) {
		return errAway
	}
	return do(ctx)
}

// resume tries to claim what was begun before.
func (l *ledger) resume(ctx context.Context, key string, cmd *redis.Cmd, do func(context.Context) error) error {
	if l.fails(&l.beginFail) {
		return errAway
	}
	err := do(ctx)
	if outcome, _ := cmd.Text(); outcome == "taken" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.claims[key] = replicaOf(ctx)
	}
	return err
}

// release gives a claim up, unless its replica is dead: then it runs out.
func (l *ledger) release(ctx context.Context, key string, do func(context.Context) error) error {
	if lost, _ := replicaOf(ctx).meet(l); lost {
		return errAway
	}
	l.mu.Lock()
	delete(l.claims, key)
	l.mu.Unlock()
	return do(ctx)
}

// save carries out what is saved under the condition of a revision or a claim. It is noted if it succeeds.
func (l *ledger) save(ctx context.Context, cmd *redis.Cmd, do func(ctx context.Context) error) error {
	lost, unanswered := replicaOf(ctx).meet(l)
	if lost {
		return errAway
	}
	if unanswered { // whoever asked is dead, and what is sent takes effect
		ctx = context.WithoutCancel(ctx)
	}
	if l.failsNow() {
		return errAway
	}
	b := l.readBatch(cmd)
	if b.claimed != "" {
		l.w.claiming.Lock() // the order of claims is that of their answers
		defer l.w.claiming.Unlock()
	}
	var wrong []string
	if b.claimed != "" {
		wrong = l.overlapping(b) // whoever writes from here on has the claim fail
	}
	if err := do(ctx); err != nil {
		return err
	}
	if n, err := cmd.Int64(); err != nil || n < 0 {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(ctx, b)
	if l.overlapped = append(l.overlapped, wrong...); unanswered {
		return errAway
	}
	return nil
}

// note notes what was saved. The caller holds mu.
func (l *ledger) note(ctx context.Context, b batch) {
	for _, ch := range b.changes {
		if ch.State == record.StateBegun && ch.Fault != "" && len(b.due) == 0 {
			l.perhaps++
		}
	}
	if b.claimed != "" {
		l.claims[b.claimed] = replicaOf(ctx)
		for _, ch := range b.changes {
			l.order = append(l.order, ch.ID)
		}
	}
	delete(l.claims, b.ended)
	for _, e := range b.events {
		l.announced = append(l.announced, e.ID)
	}
	for _, decision := range b.due {
		if decision.Asks || decision.Late || decision.Ended || decision.Listed {
			l.dueSaved = append(l.dueSaved, decision)
		}
	}
	l.triaged, l.redrawn, l.lost = append(l.triaged, b.triaged...), append(l.redrawn, b.redrawn...), append(l.lost, b.lost...)
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
	for key, r := range l.claims {
		if of(r) {
			l.w.redis.Del(key)
			delete(l.claims, key)
		}
	}
}

// overlapping is what of changes that are about to be claimed touches what is in hand, or denies what is protected.
func (l *ledger) overlapping(b batch) (wrong []string) {
	kept, err := l.w.store.Triage.AccountContext(behind(l.w.t), b.account)
	require.NoError(l.w.t, err)
	changes := l.all()
	for _, ch := range b.changes {
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

// lose has somebody else write before the n-th save from now on, and its claim be lost.
func (l *ledger) lose(n int, meanwhile func()) {
	l.set(func(l *ledger) { l.loseAt, l.meanwhile = n, meanwhile })
}

func (l *ledger) cantRead(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unread != "" && strings.HasSuffix(key, l.unread)
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
func (l *ledger) takeDue(of func(record.DueDecision) bool) (found []record.DueDecision) {
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

// failed counts the entries of what failed.
func (a *auditLog) failed() (n int) {
	for _, e := range a.all() {
		if e.Outcome == "failed" {
			n++
		}
	}
	return n
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
		return l.send(ctx, func(ctx context.Context) error { return next(ctx, cmd) }, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (l line) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return l.send(ctx, func(ctx context.Context) error { return next(ctx, cmds) }, cmds...)
	}
}

// send sends what isn't cut off, and has the ledger note it.
func (l line) send(ctx context.Context, next func(context.Context) error, cmds ...redis.Cmder) error {
	if l.cut(ctx, cmds...) {
		return errAway
	}
	do := func(ctx context.Context) error {
		moment(ctx)
		defer moment(ctx)
		return next(ctx)
	}
	if ctx.Value(behindKey{}) != nil || l.ledger.bare {
		return do(ctx)
	}
	if slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool {
		return cmd.Name() == "get" && strings.HasSuffix(cmd.Args()[1].(string), "}:revision")
	}) {
		return l.ledger.begin(ctx, do)
	}
	if len(cmds) > 1 || cmds[0].Name() != "evalsha" {
		return do(ctx)
	}
	keys, words := wordsOf(cmds[0])
	claim := strings.Contains(keys[0], "}:claim:")
	switch {
	case slices.ContainsFunc(keys, func(key string) bool { return strings.HasSuffix(key, "}:revision") }):
		return l.ledger.save(ctx, answerOf(cmds[0]), do)
	case claim && len(keys) == 3:
		return l.ledger.resume(ctx, keys[0], answerOf(cmds[0]), do)
	case claim && len(words) == 1:
		return l.ledger.release(ctx, keys[0], do)
	}
	return do(ctx)
}

// answerOf is a command as the store made it.
func answerOf(cmd redis.Cmder) *redis.Cmd {
	if made, ok := cmd.(*redis.Cmd); ok {
		return made
	}
	return reflect.ValueOf(cmd).FieldByName("Cmder").Interface().(*redis.Cmd)
}

// wordsOf are the keys of a script's call, and its other words.
func wordsOf(cmd redis.Cmder) (keys []string, words []any) {
	args := cmd.Args()
	n := args[2].(int)
	for _, key := range args[3 : 3+n] {
		keys = append(keys, key.(string))
	}
	return keys, args[3+n:]
}

// batch is what is written in one step.
type batch struct {
	account string
	claimed string // the key of a claim that is taken
	ended   string // that of one that is over
	changes []record.Change
	events  []record.Event
	due     []record.DueDecision
	triaged []string
	redrawn []string
	lost    []record.PermissionLoss
}

// readBatch reads the commands that the store has carried out in one step.
func (l *ledger) readBatch(cmd *redis.Cmd) (b batch) {
	keys, words := wordsOf(cmd)
	b.account = strings.TrimPrefix(keys[0][:strings.Index(keys[0], "}")], "{a:")
	var before []any
	for words = words[1+words[0].(int):]; len(words) > 0; words = words[1+words[0].(int):] {
		one := words[1 : 1+words[0].(int)]
		_, key, _ := strings.Cut(one[1].(string), "}:")
		l.readCommand(&b, fmt.Sprint(one[0], " ", key), one, before)
		before = one
	}
	for _, e := range b.events {
		facts, _ := e.Detail.(record.ChangeFacts)
		for i, d := range b.due {
			if d.Change.ID == facts.Change {
				b.due[i].Asks = d.Asks || e.Kind == record.MitigationEnding
				b.due[i].Late = d.Late || e.Kind == record.EndOverdue
				b.due[i].Listed = d.Listed || strings.HasSuffix(e.ID, ":listed")
			}
		}
	}
	return b
}

// readCommand reads one command of a batch. A decision about what is due is told from a change by what comes first.
func (l *ledger) readCommand(b *batch, what string, words, before []any) {
	last := len(b.due) - 1
	switch {
	case what == "HSET changes" && last >= 0 && b.due[last].Change.ID == words[2]:
		b.due[last].Change = decoded[record.Change](l.w.t, words[3])
	case what == "HSET changes":
		b.changes = append(b.changes, decoded[record.Change](l.w.t, words[3]))
	case (what == "ZADD due" || what == "ZREM due") && (len(before) < 3 || before[0] != "HSET" || before[2] != words[len(words)-1]):
		d := record.DueDecision{Change: record.Change{ID: words[len(words)-1].(string)}}
		if stored := l.w.redis.HGet("{a:"+b.account+"}:changes", d.Change.ID); stored != "" {
			d.Change = decoded[record.Change](l.w.t, []byte(stored))
		}
		if words[0] == "ZADD" {
			d.Next = time.Unix(words[2].(int64), 0).UTC()
		} else {
			d.Ended = true // a change that no attack led to has no card that is stale
		}
		b.due = append(b.due, d)
	case what == "HSET outbox":
		b.events = append(b.events, decoded[record.Event](l.w.t, words[3]))
	case what == "HSET triage":
		b.triaged = append(b.triaged, words[2].(string))
	case what == "SET permission":
		b.lost = append(b.lost, decoded[record.PermissionLoss](l.w.t, words[2]))
	case words[0] == "STALE" && last >= 0:
		b.due[last].Ended = true
	case words[0] == "STALE" && len(b.changes)+len(b.triaged) == 0:
		b.redrawn = append(b.redrawn, words[2].(string))
	case strings.HasPrefix(what, "SET claim:"):
		b.claimed = words[1].(string)
	case strings.HasPrefix(what, "DEL claim:"):
		b.ended = words[1].(string)
	}
}

func decoded[T any](t *testing.T, text any) (v T) {
	require.NoError(t, json.Unmarshal(text.([]byte), &v))
	return v
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
			key := cmd.Args()[1].(string)
			if l.attackSeen != nil && cmd.Name() == "hget" && strings.HasSuffix(key, "}:attacks") {
				l.redis.HSet(key, cmd.Args()[2].(string), jsonOf(l.t, l.attackSeen()))
			}
			return l.ledger.fails(&l.ledger.readFail) || l.ledger.cantRead(key)
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
	w.store, w.ledger = s, &ledger{Ledger: s.Ledger, w: w, claims: map[string]*replica{}}
	w.audit, w.asked, w.triage = &auditLog{Audit: s.Audit, w: w}, s.Ledger, s.Triage
}

// beginState begins the state of all accounts.
func (w *world) beginState() {
	for _, a := range w.cfg.Accounts {
		_, err := w.store.Ledger.Restore(w.t.Context(), a.Name, store.Rebuilt{Epoch: store.NewEpoch()})
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
func (w *world) polled(u record.PollUpdate) {
	w.t.Helper()
	require.NoError(w.t, w.owning(func() error { return w.store.Attacks.Save(behind(w.t), "acme", u) }))
}

// knows has attacks be stored as a poll saw them.
func (w *world) knows(all ...apiclient.Attack) {
	w.t.Helper()
	u := record.PollUpdate{Attacks: map[string]record.AttackState{}}
	for _, a := range all {
		u.Attacks[a.ID] = record.AttackState{Attack: a}
	}
	w.polled(u)
}

// shows has an attack of the service be stored in a state, as its card shows it.
func (w *world) shows(id string, s record.AttackState) {
	w.t.Helper()
	s.Attack = w.served(id)
	w.polled(record.PollUpdate{Attacks: map[string]record.AttackState{s.Attack.ID: s}})
}

// served is an attack as the service has it.
func (w *world) served(id string) apiclient.Attack {
	w.t.Helper()
	for _, a := range w.attacks() {
		if record.AttackID("acme", a.ID) == id {
			return a
		}
	}
	w.t.Fatalf("no attack %s", id)
	return apiclient.Attack{}
}

// attacks are all that the service has.
func (w *world) attacks() (all []apiclient.Attack) {
	w.t.Helper()
	for page, err := range w.cfg.Services["acme"].Attacks(w.t.Context(), apiclient.AttackFilter{}) {
		require.NoError(w.t, err)
		all = append(all, page.Attacks...)
	}
	return all
}

// mirrored are the entries and the rules that the service lists.
func (w *world) mirrored() (entries []apiclient.IPRule, rules []apiclient.Rule) {
	w.t.Helper()
	for e, err := range w.cfg.Services["acme"].IPRules(w.t.Context(), "") {
		require.NoError(w.t, err)
		entries = append(entries, e)
	}
	for r, err := range w.cfg.Services["acme"].Rules(w.t.Context(), 0) {
		require.NoError(w.t, err)
		rules = append(rules, r)
	}
	return entries, rules
}

// missed stores times in which nothing was watched.
func (w *world) missed(gaps ...record.Outage) {
	w.t.Helper()
	for _, gap := range gaps {
		w.polled(record.PollUpdate{Gap: &gap})
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
