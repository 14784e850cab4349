package commands_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store/storetest"
)

// What these tests run against keeps what the store on Redis keeps.
func TestTheStoreKeepsWhatCommandsRelyOn(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store {
		w := newWorld(t)
		known := facts{}
		w.cfg.Attacks = known
		return storetest.Store{
			Ledger: w.ledger, Efficacy: w.triage, Due: w.ledger, Attacks: known, Contexts: w.triage, History: w.records, Triage: w.triage,
			Storms: w.storms, Permissions: w.permissions, Approvals: w.asked, Drills: w.triage, Audit: w.audit,
			Polled: func(t *testing.T, p storetest.Polled) { w.polled(t, known, p) },
			Events: func(*testing.T) []record.Event { return w.ledger.events() },
			LoseClaim: func(_ *testing.T, ch record.Change) {
				w.ledger.set(func(l *ledger) { delete(l.claims, ch.Account+" "+ch.ID) })
			},
			Spoil: func(t *testing.T, at time.Time) {
				_, err := w.audit.Append(t.Context(), record.AuditEntry{Account: storetest.Account, At: at, Line: unreadable})
				require.NoError(t, err)
			},
		}
	})
}

// polled keeps what a poll found.
func (w *world) polled(t *testing.T, known facts, p storetest.Polled) {
	t.Helper()
	id := func(attackid string) string { return record.AttackID(storetest.Account, attackid) }
	w.records.seen, w.records.evidence = map[string]record.Observation{}, map[string]record.Evidence{}
	for _, a := range p.Attacks {
		one := record.KnownAttack{ID: id(a.ID), Attack: a}
		known[one.ID] = a
		w.records.seen[one.ID] = record.Observation{At: p.At, Attack: a.Brief()}
		if storm, ok := p.Storms[a.ID]; ok {
			w.storms.storms = append(w.storms.storms, record.StormSeen{KnownAttack: one, Storm: storm, SeenAt: p.At})
		}
		if storm, ok := p.In[a.ID]; ok {
			w.storms.grouped[id(storm)] = append(w.storms.grouped[id(storm)], record.GroupedAttack{KnownAttack: one, SeenAt: p.At})
		}
	}
	for attackid, e := range p.Evidence {
		w.records.evidence[id(attackid)] = e
	}
	if !p.Outage.From.IsZero() {
		w.records.outages = append(w.records.outages, p.Outage)
	}
	if p.Sources != nil {
		w.count(p.Sources)
	}
}
