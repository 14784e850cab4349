// Package storetest checks that a store keeps what commands rely on. The store on Redis and the one that the tests of commands use
// pass the same tests.
package storetest

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
)

// Account is the account that tests write to. Its state has begun, and one replica polls it.
const Account = "acme"

// Store is a store that nothing was written to yet.
type Store struct {
	Ledger      commands.Ledger
	Efficacy    efficacy.Store
	Due         commands.Due
	Attacks     commands.KnownAttacks
	Contexts    commands.AccountContexts
	History     commands.AttackHistory
	Triage      commands.TriageStore
	Storms      commands.Storms
	Permissions commands.PermissionLosses
	Approvals   commands.Approvals
	Drills      commands.Drills
	Audit       commands.AuditLog

	Polled    func(t *testing.T, p Polled)         // stores what a poll found
	Events    func(t *testing.T) []record.Event    // the account's stored events, in no order
	LoseClaim func(t *testing.T, ch record.Change) // has the holder of a change's claim lose it
	Spoil     func(t *testing.T, at time.Time)     // stores an audit entry that has the next number and can't be read
}

// Polled is what a poll found. Attacks go by the service's ids.
type Polled struct {
	At       time.Time // on the service's clock
	Attacks  []apiclient.Attack
	Storms   map[string]record.Storm // by the id of the attack that stands for the storm
	In       map[string]string       // the storms that attacks are in
	Evidence map[string]record.Evidence
	Outage   record.Outage // zero: none; without end: it goes on
	Sources  map[netip.Addr]record.SourceActivity
}

// Run tests a store. Each test gets one of its own.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s Store)
	}{
		{"changes come newest first", testChanges},
		{"a draft writes what nobody wrote since", testDraft},
		{"a claim is one's until the outcome is stored", testClaim},
		{"a claim is all or none", testClaimAll},
		{"a lost claim writes nothing", testLostClaim},
		{"events come with their state", testEvents},
		{"an event is never without its state", testOneStep},
		{"changes become due, the oldest first", testDue},
		{"decisions keep what people are notified of", testDecisions},
		{"audit entries are numbered in each account", testAudit},
		{"audit entries that can't be read", testSpoiled},
		{"efficacy is stored by change", testEfficacy},
		{"requests come newest first", testRequests},
		{"triage and mutes", testTriage},
		{"the account's context", testContext},
		{"permission losses", testPermissions},
		{"what a change goes by", testBasis},
		{"drills", testDrills},
		{"attacks and their history", testPolled},
		{"outages come oldest first", testOutages},
		{"storms come newest first", testStorms},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// other is an account that nothing is written to.
const other = "other"

// now is a time as it comes back from the store.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func ann() record.Actor {
	return record.Actor{ID: "U1", Team: "T1", Name: "Ann", Via: record.ViaButton}
}

// drafted does something with a draft on what is stored now.
func drafted(t *testing.T, s Store, do func(d commands.Draft)) {
	t.Helper()
	_, d, err := s.Ledger.Begin(t.Context(), Account, "")
	require.NoError(t, err)
	do(d)
}

// save stores changes without an audit entry.
func save(t *testing.T, s Store, all ...record.Change) {
	t.Helper()
	drafted(t, s, func(d commands.Draft) {
		n, err := d.SaveChanges(t.Context(), nil, nil, all...)
		require.NoError(t, err)
		require.Zero(t, n, "there is no entry")
	})
}

func entry(at time.Time, line string) record.AuditEntry {
	return record.AuditEntry{At: at, Account: Account, Actor: ann(), Line: line, Outcome: "done", Before: []string{"nothing"}, After: []string{"203.0.113.7"}}
}

// got is a value that was read without an error.
func got[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
