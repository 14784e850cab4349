package commands_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
)

// ledger keeps changes as JSON, as the real one does, so that nobody can alter what is kept without saving it.
type ledger struct {
	locks chan struct{} // one account is all that is needed

	mu       sync.Mutex
	changes  map[string]string
	saves    int
	lockFail bool
	readFail bool
	saveFail func(n int) bool // whether the n-th save fails; nil: none
}

func newLedger() *ledger { return &ledger{locks: make(chan struct{}, 1), changes: map[string]string{}} }

func (l *ledger) Lock(ctx context.Context, _ string) (context.Context, func(), error) {
	if l.fails(&l.lockFail) {
		return nil, nil, errAway
	}
	select {
	case l.locks <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	held, cancel := context.WithCancel(ctx)
	return held, func() { cancel(); <-l.locks }, nil
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

func (l *ledger) Changes(_ context.Context, account string) ([]commands.Change, error) {
	if l.fails(&l.readFail) {
		return nil, errAway
	}
	return slices.DeleteFunc(l.all(), func(c commands.Change) bool { return c.Account != account }), nil
}

func (l *ledger) all() []commands.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []commands.Change
	for _, text := range l.changes {
		var c commands.Change
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			panic(err)
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b commands.Change) int { return b.At.Compare(a.At) })
	return all
}

func (l *ledger) change(id string) commands.Change {
	for _, c := range l.all() {
		if c.ID == id {
			return c
		}
	}
	return commands.Change{}
}

func (l *ledger) SaveChange(ctx context.Context, c commands.Change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saves++
	if l.saveFail != nil && l.saveFail(l.saves) {
		return errAway
	}
	l.changes[c.ID] = string(text)
	return nil
}

func (l *ledger) DueChanges(_ context.Context, account string, now time.Time) ([]string, error) {
	var ids []string
	for _, c := range l.all() {
		if due := c.DueAt(); c.Account == account && !due.IsZero() && !due.After(now) {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}

// desk keeps cases and mutes as JSON. It is the same memory as the ledger, and fails with it.
type desk struct {
	*ledger
	kept map[string]string
}

func newDesk(l *ledger) *desk { return &desk{ledger: l, kept: map[string]string{}} }

func (d *desk) read(key string, into any) error {
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

func (d *desk) write(ctx context.Context, key string, v any) error {
	text, err := json.Marshal(v)
	if err != nil || ctx.Err() != nil {
		return cmp.Or(err, ctx.Err())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saves++
	if d.saveFail != nil && d.saveFail(d.saves) {
		return errAway
	}
	d.kept[key] = string(text)
	return nil
}

func (d *desk) Case(_ context.Context, account, attack string) (c commands.Case, err error) {
	err = d.read("case "+account+" "+attack, &c)
	return c, err
}

func (d *desk) Cases(ctx context.Context, account string) (map[string]commands.Case, error) {
	d.mu.Lock()
	var attacks []string
	for key := range d.kept {
		if attack, ok := strings.CutPrefix(key, "case "+account+" "); ok {
			attacks = append(attacks, attack)
		}
	}
	d.mu.Unlock()
	all := map[string]commands.Case{}
	for _, attack := range attacks {
		c, err := d.Case(ctx, account, attack)
		if err != nil {
			return nil, err
		}
		all[attack] = c
	}
	return all, nil
}

func (d *desk) SaveCase(ctx context.Context, account, attack string, c commands.Case) error {
	return d.write(ctx, "case "+account+" "+attack, c)
}

func (d *desk) Mutes(_ context.Context, account string) (all []commands.Mute, err error) {
	err = d.read("mutes "+account, &all)
	return all, err
}

func (d *desk) SaveMutes(ctx context.Context, account string, all []commands.Mute) error {
	return d.write(ctx, "mutes "+account, all)
}

// auditLog numbers entries.
type auditLog struct {
	mu      sync.Mutex
	entries []commands.AuditEntry
	fail    bool
}

func (a *auditLog) Append(_ context.Context, e commands.AuditEntry) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail {
		return 0, errAway
	}
	e.N = int64(len(a.entries) + 1)
	a.entries = append(a.entries, e)
	return e.N, nil
}

func (a *auditLog) Entries(_ context.Context, account string, since time.Time) ([]commands.AuditEntry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail {
		return nil, errAway
	}
	var found []commands.AuditEntry
	for _, e := range slices.Backward(a.entries) {
		if e.Account == account && !e.At.Before(since) {
			found = append(found, e)
		}
	}
	return found, nil
}

func (a *auditLog) all() []commands.AuditEntry {
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
}

func newMembers() *members {
	m := &members{full: map[string]string{"U5NOBODY": "Nobody"}}
	for _, a := range []commands.Actor{ann, bob, root, eve} {
		m.full[a.ID] = a.Name
	}
	return m
}

func (m *members) Member(_ context.Context, team, user string) (string, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return "", false, errAway
	}
	name, ok := m.full[user]
	return name, ok && team == "T1", nil
}

func (m *members) setFail() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = true
}

// facts are remembered attacks, by their id.
type facts map[string]apiclient.Attack

func (f facts) FindAttacks(_ context.Context, _, prefix string) (map[string]apiclient.Attack, error) {
	found := maps.Clone(f)
	maps.DeleteFunc(found, func(id string, _ apiclient.Attack) bool { return !strings.HasPrefix(id, prefix) })
	return found, nil
}
