package commands_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// ledger keeps changes as JSON, as the real one does, so that no caller can alter what is kept without saving it.
type ledger struct {
	mu        sync.Mutex
	changes   map[string]string
	claims    map[string]*claim // by account and the change under whose id they were claimed
	revision  int
	saves     int
	beginFail bool
	readFail  bool
	saveFail  func(n int) bool // whether the n-th save fails; nil: none

	basis       func(ctx context.Context, account, attack string) (record.Basis, error)
	audit       *auditLog // written in the same step as changes
	permissions *permissions
	perhaps     int               // how often a change of unknown outcome was saved, which is an event
	kept        map[string]string // triage and mutes
	effects     map[string]string // by account and change
	judged      []efficacy.Judgement
	triaged     []string       // attacks whose triage was saved
	outbox      []record.Event // events that were saved
	redrawn     []string       // attacks whose cards a mute, or what was protected, has drawn again
	due         map[string]time.Time
	dueSaved    []change.DueDecision // of which people are notified
	loseAt      int                  // the save before which somebody else writes, and takes all claims over; 0: none
	meanwhile   func()               // what happens before
	order       []string             // changes, as they were claimed first
	overlapped  []string             // changes that were claimed while one in hand touched the same, or of what was protected by then
}

func newLedger() *ledger {
	return &ledger{changes: map[string]string{}, claims: map[string]*claim{}, kept: map[string]string{}, effects: map[string]string{}, due: map[string]time.Time{}}
}

func (l *ledger) Begin(ctx context.Context, account, attack string) (record.Basis, commands.Draft, error) {
	if lost, unanswered := replicaOf(ctx).meet(l); lost || unanswered {
		return record.Basis{}, commands.Draft{}, errAway
	}
	l.mu.Lock()
	saver := &saver{ledger: l, account: account, revision: l.revision}
	l.mu.Unlock()
	if l.fails(&l.beginFail) {
		return record.Basis{}, commands.Draft{}, errAway
	}
	b, err := l.basis(ctx, account, attack)
	return b, commands.Draft{ChangeSaver: saver, TriageSaver: saver, AccountSaver: saver, Claimer: saver}, err
}

func (l *ledger) Resume(ctx context.Context, ch record.Change) (context.Context, commands.Claim, error) {
	if l.fails(&l.beginFail) {
		return nil, nil, errAway
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.claims[ch.Account+" "+ch.ClaimedAs()] != nil {
		return nil, nil, refusal.ErrClaimed
	}
	return l.claimed(ctx, ch.Account, ch, nil)
}

// claimed is a claim that was just taken. The caller holds mu.
func (l *ledger) claimed(ctx context.Context, account string, as record.Change, open map[string]bool) (context.Context, commands.Claim, error) {
	held, end := context.WithCancel(ctx)
	c := &claim{saver: &saver{ledger: l, account: account}, key: account + " " + as.ClaimedAs(), open: open, end: end, by: replicaOf(ctx)}
	c.saver.claim = c
	l.claims[c.key] = c
	return held, c, nil
}

// claim is the right to carry changes out.
type claim struct {
	*saver
	key  string
	open map[string]bool // changes without a known outcome; nil: it was resumed
	end  context.CancelFunc
	by   *replica
}

func (c *claim) SaveChanges(ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change) (int64, error) {
	n, err := c.saver.SaveChanges(ctx, entry, events, all...)
	for _, ch := range all {
		if err == nil && ch.State != record.StateBegun {
			delete(c.open, ch.ID)
		}
	}
	if err == nil && c.open != nil && len(c.open) == 0 {
		c.Release(ctx)
	}
	return n, err
}

func (c *claim) Release(ctx context.Context) {
	lost, _ := replicaOf(ctx).meet(c.ledger)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end(); lost {
		return
	}
	if c.claims[c.key] == c {
		delete(c.claims, c.key)
	}
}

// saver writes while nobody else wrote, or, for a claim, while that is held.
type saver struct {
	*ledger
	account  string
	revision int
	claim    *claim
	begins   []record.Change // what is being claimed
}

func (l *saver) Claim(ctx context.Context, all ...record.Change) (context.Context, commands.Claim, error) {
	l.begins = all
	if _, err := l.SaveChanges(ctx, nil, nil, all...); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	open := map[string]bool{}
	for _, ch := range all {
		open[ch.ID] = true
	}
	return l.claimed(ctx, l.account, all[0], open)
}

// note holds that what is claimed touches nothing that is in hand, and denies nothing that is protected. The caller holds mu.
func (l *ledger) note(claimed []record.Change) {
	for _, ch := range claimed {
		l.order = append(l.order, ch.ID)
		for _, text := range l.changes {
			if other := decoded[record.Change](text); other.State == record.StateBegun && record.Overlap(ch.Targets(), other.Targets()) {
				l.overlapped = append(l.overlapped, ch.ID+" was claimed beside "+other.ID)
			}
		}
		denies := slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Kind == record.AddEntry && s.Entry.List == "black" })
		for _, p := range decoded[[]record.Protected](cmp.Or(l.kept["protected "+ch.Account], "null")) {
			if denies && ch.Undoes == "" && record.Overlap([]record.Target{record.RangeTarget(p.Range)}, ch.Targets()) {
				l.overlapped = append(l.overlapped, ch.ID+" denies what is protected: "+p.Range.String())
			}
		}
	}
}

func decoded[T any](text string) (value T) {
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		panic(err)
	}
	return value
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

func (l *ledger) Changes(_ context.Context, account string) ([]record.Change, error) {
	if l.fails(&l.readFail) {
		return nil, errAway
	}
	return slices.DeleteFunc(l.all(), func(c record.Change) bool { return c.Account != account }), nil
}

func (l *ledger) all() []record.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []record.Change
	for _, text := range l.changes {
		var c record.Change
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			panic(err)
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b record.Change) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return all
}

// only is the one change there is. The caller holds mu.
func (l *ledger) only() (ch record.Change) {
	for _, text := range l.changes {
		if err := json.Unmarshal([]byte(text), &ch); err != nil {
			panic(err)
		}
	}
	return ch
}

// put keeps a change as it is. The caller holds mu.
func (l *ledger) put(ch record.Change) {
	text, err := json.Marshal(ch)
	if err != nil {
		panic(err)
	}
	l.changes[ch.ID] = string(text)
}

func (l *ledger) change(id string) record.Change {
	for _, c := range l.all() {
		if c.ID == id {
			return c
		}
	}
	return record.Change{}
}

func (l *ledger) Efficacy(_ context.Context, account string) (map[string]record.Efficacy, error) {
	if l.fails(&l.readFail) {
		return nil, errAway
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	effects := map[string]record.Efficacy{}
	for key, text := range l.effects {
		id, ok := strings.CutPrefix(key, account+" ")
		if !ok {
			continue
		}
		var e record.Efficacy
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return nil, err
		}
		effects[id] = e
	}
	return effects, nil
}

// SaveEffects implements commands.Effects.
func (l *ledger) SaveEfficacy(_ context.Context, account string, all []efficacy.Judgement, events ...record.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range all {
		text, err := json.Marshal(j.Efficacy)
		if err != nil {
			return err
		}
		l.effects[account+" "+j.Change.ID] = string(text)
		l.judged = append(l.judged, j)
	}
	l.outbox = append(l.outbox, events...)
	return nil
}

func (l *saver) SaveChanges(ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change) (n int64, err error) {
	if len(all) == 0 {
		return 0, nil
	}
	kept := map[string]any{}
	for _, c := range all {
		kept[c.ID] = c
		if c.State == record.StateBegun && c.Fault != "" {
			l.perhaps++
		}
	}
	if n, err = l.writeAudited(ctx, entry, l.changes, kept, events...); err != nil {
		return 0, err
	}
	for _, c := range all {
		l.setDue(c.ID, change.CheckAt(c))
	}
	return n, nil
}

// writeAudited writes with an audit entry, if there is one, both or neither, and gives its number.
func (l *saver) writeAudited(ctx context.Context, entry *record.AuditEntry, where map[string]string, values map[string]any, events ...record.Event) (n int64, err error) {
	if entry != nil && l.audit.fails() {
		return 0, errAway
	}
	if err := l.write(ctx, where, values, events...); err != nil || entry == nil {
		return 0, err
	}
	return l.audit.Append(ctx, *entry)
}

func (l *saver) SaveDue(ctx context.Context, events []record.Event, all ...change.DueDecision) error {
	kept := map[string]any{}
	for _, decision := range all {
		if decision.Asks || decision.Late || decision.Listed || decision.Seen {
			kept[decision.Change.ID] = decision.Change
		}
	}
	if err := l.write(ctx, l.changes, kept, events...); err != nil {
		return err
	}
	for _, decision := range all {
		l.setDue(decision.Change.ID, decision.Next)
		if decision.Asks || decision.Late || decision.Ended || decision.Listed {
			l.mu.Lock()
			l.dueSaved = append(l.dueSaved, decision)
			l.mu.Unlock()
		}
	}
	return nil
}

func (l *saver) setDue(id string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := l.account + " " + id
	if l.due[key] = at; at.IsZero() {
		delete(l.due, key)
	}
}

// events are those that were saved.
func (l *ledger) events() []record.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.outbox)
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

func (l *ledger) DueChanges(_ context.Context, account string, now time.Time) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for key, at := range l.due {
		if id, ok := strings.CutPrefix(key, account+" "); ok && !at.After(now) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(l.due[account+" "+a].Compare(l.due[account+" "+b]), cmp.Compare(a, b))
	})
	return ids[:min(100, len(ids))], nil
}

// triage keeps triage and mutes as JSON. It is the same store as the ledger, and fails with it.
type triage struct {
	*ledger
	serving int // replicas
}

func newTriage(l *ledger) *triage { return &triage{ledger: l, serving: 1} }

func (d *triage) read(key string, into any) error {
	if d.fails(&d.readFail) {
		return errAway
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if text, ok := d.kept[key]; ok {
		return json.Unmarshal([]byte(text), into)
	}
	return nil
}

func (d *triage) TriageOf(_ context.Context, account, attack string) (c record.Triage, err error) {
	err = d.read("case "+account+" "+attack, &c)
	return c, err
}

func (d *triage) AllTriage(ctx context.Context, account string) (map[string]record.Triage, error) {
	d.mu.Lock()
	var attacks []string
	for key := range d.kept {
		if attack, ok := strings.CutPrefix(key, "case "+account+" "); ok {
			attacks = append(attacks, attack)
		}
	}
	d.mu.Unlock()
	all := map[string]record.Triage{}
	for _, attack := range attacks {
		c, err := d.TriageOf(ctx, account, attack)
		if err != nil {
			return nil, err
		}
		all[attack] = c
	}
	return all, nil
}

func (d *triage) Mutes(_ context.Context, account string) (all []record.Mute, err error) {
	err = d.read("mutes "+account, &all)
	return all, err
}

func (l *saver) SaveTriage(ctx context.Context, all map[string]record.Triage, events ...record.Event) error {
	kept := map[string]any{}
	for attack, triage := range all {
		kept["case "+l.account+" "+attack] = triage
	}
	err := l.write(ctx, l.kept, kept, events...)
	if err == nil {
		l.triaged = slices.AppendSeq(l.triaged, maps.Keys(all))
	}
	return err
}

func (l *saver) SavePermissionLoss(ctx context.Context, t record.PermissionLoss, events ...record.Event) error {
	if err := l.write(ctx, l.kept, map[string]any{"permission " + l.account: t}, events...); err != nil {
		return err
	}
	l.permissions.add(t)
	return nil
}

func (l *saver) SaveDrill(ctx context.Context, d record.Drill, events ...record.Event) error {
	return l.write(ctx, l.kept, map[string]any{"drill " + l.account: d}, events...)
}

func (d *triage) Drill(_ context.Context, account string) (drill record.Drill, err error) {
	err = d.read("drill "+account, &drill)
	return drill, err
}

func (d *triage) Serving(context.Context) (int, error) { return d.serving, nil }

func (l *saver) SaveMutes(ctx context.Context, all []record.Mute, attacks ...string) error {
	l.redraws(attacks)
	return l.write(ctx, l.kept, map[string]any{"mutes " + l.account: all})
}

func (l *ledger) redraws(attacks []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.redrawn = append(l.redrawn, attacks...)
}

func (l *saver) SaveProtected(ctx context.Context, all []record.Protected, attacks ...string) error {
	l.redraws(attacks)
	return l.write(ctx, l.kept, map[string]any{"protected " + l.account: all})
}

func (l *saver) SaveLocked(ctx context.Context, at time.Time) error {
	return l.write(ctx, l.kept, map[string]any{"locked " + l.account: at})
}

// AccountContext is put together from what was saved, and what the poller counted.
func (d *triage) AccountContext(_ context.Context, account string) (s record.AccountContext, err error) {
	err = errors.Join(d.read("protected "+account, &s.Protected), d.read("locked "+account, &s.RulesLockedAt), d.read("seen "+account, &s.Sources), d.read("mutes "+account, &s.Mutes))
	return s, err
}

// write keeps something as JSON, unless somebody else wrote, or holds the claim by now.
func (l *saver) write(ctx context.Context, where map[string]string, values map[string]any, events ...record.Event) error {
	lost, unanswered := replicaOf(ctx).meet(l.ledger)
	switch {
	case lost:
		return errAway
	case ctx.Err() != nil && !unanswered:
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.saves++; l.loseAt == l.saves {
		meanwhile := l.meanwhile
		l.loseAt = 0
		l.ledger.revision++
		for _, c := range l.claims {
			c.end()
		}
		clear(l.claims)
		l.mu.Unlock()
		meanwhile()
		l.mu.Lock()
	}
	switch {
	case l.claim != nil && l.claims[l.claim.key] != l.claim:
		return refusal.ErrLost
	case l.claim == nil && l.revision != l.ledger.revision:
		return refusal.ErrChanged
	case l.saveFail != nil && l.saveFail(l.saves):
		return errAway
	}
	l.note(l.begins)
	l.begins = nil
	for key, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		where[key] = string(text)
	}
	l.outbox = append(l.outbox, events...)
	l.ledger.revision++
	l.revision = l.ledger.revision
	if unanswered {
		return errAway
	}
	return nil
}

// auditLog numbers the entries of each account.
type auditLog struct {
	mu       sync.Mutex
	entries  []record.AuditEntry
	counters map[string]int64
	fail     bool
}

func (a *auditLog) Append(_ context.Context, e record.AuditEntry) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail {
		return 0, errAway
	}
	if a.counters == nil {
		a.counters = map[string]int64{}
	}
	a.counters[e.Account]++
	e.N = a.counters[e.Account]
	a.entries = append(a.entries, e)
	return e.N, nil
}

func (a *auditLog) Entries(_ context.Context, account string, since time.Time) ([]record.AuditEntry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail {
		return nil, errAway
	}
	var found []record.AuditEntry
	for _, e := range slices.Backward(a.entries) {
		if e.Account != account || e.At.Before(since) {
			continue
		}
		if e.Line == unreadable {
			return nil, record.ErrBadEntry
		}
		found = append(found, e)
	}
	return found, nil
}

func (a *auditLog) Trail(_ context.Context, account string, since time.Time) iter.Seq2[record.AuditEntry, error] {
	return func(yield func(record.AuditEntry, error) bool) {
		if a.fails() {
			yield(record.AuditEntry{}, errAway)
			return
		}
		for _, e := range a.all() {
			if e.Account != account || e.At.Before(since) {
				continue
			}
			var err error
			if e.Line == unreadable {
				e, err = record.AuditEntry{N: e.N}, record.ErrBadEntry
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// unreadable is the line of an entry that can't be read.
const unreadable = "rubbish"

func (a *auditLog) fails() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fail
}

func (a *auditLog) all() []record.AuditEntry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.entries)
}

func (a *auditLog) setFail(fail bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = fail
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

// facts are stored attacks, by their id.
type facts map[string]apiclient.Attack

func (f facts) FindAttacks(_ context.Context, account, prefix string) (map[string]apiclient.Attack, error) {
	found := maps.Clone(f)
	maps.DeleteFunc(found, func(id string, _ apiclient.Attack) bool { return account != "acme" || !strings.HasPrefix(id, prefix) })
	return found, nil
}

func (f facts) KnownAttack(_ context.Context, account, id string) (apiclient.Attack, bool, error) {
	attack, ok := f[id]
	return attack, ok && account == "acme", nil
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

// storms is what storms have grouped, by the storm's id.
type storms struct {
	*ledger
	storms  []record.StormSeen
	grouped map[string][]record.GroupedAttack
}

func (g *storms) Storms(_ context.Context, account string) ([]record.StormSeen, error) {
	if g.fails(&g.readFail) {
		return nil, errAway
	}
	if account != "acme" {
		return nil, nil
	}
	found := slices.Clone(g.storms)
	slices.SortFunc(found, func(a, b record.StormSeen) int {
		return cmp.Or(b.Storm.Began.Compare(a.Storm.Began), cmp.Compare(a.ID, b.ID))
	})
	return found, nil
}

func (g *storms) Grouped(_ context.Context, account, storm string) ([]record.GroupedAttack, error) {
	if g.fails(&g.readFail) {
		return nil, errAway
	}
	if account != "acme" {
		return nil, nil
	}
	found := slices.Clone(g.grouped[storm])
	slices.SortFunc(found, func(a, b record.GroupedAttack) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID)) })
	return found, nil
}
