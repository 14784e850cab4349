package commands

import (
	"context"
	"iter"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
)

// Ledger remembers changes. An error of any of its methods means that nothing may be changed now.
type Ledger interface {
	// Lock makes changes to one account run one after another, over all processes. It fails with ErrEmptied while what Redis lost is being
	// read back. The context it returns ends when the lock is lost.
	Lock(ctx context.Context, account string) (held context.Context, lock Lock, err error)
	// Changes are the account's changes, the newest first: all that are in force and those that ended lately.
	Changes(ctx context.Context, account string) ([]record.Change, error)
	// Effects are what was seen of the account's changes, by their ids.
	Efficacy(ctx context.Context, account string) (map[string]record.Efficacy, error)
}

// Lock is the right to change one account. Its methods fail with ErrLost when somebody else has it by now.
type Lock interface {
	// SaveChanges writes changes down, new or again, with the times at which they are to be looked at, and an audit entry if there is one, whose
	// number it gives: with events: all in one step, as the others do.
	SaveChanges(ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change) (n int64, err error)
	// SaveLooks writes down what came of looking at changes.
	SaveDue(ctx context.Context, events []record.Event, all ...change.DueDecision) error
	// SaveTriage writes down what people did about attacks, by their ids, and has their cards be drawn again.
	SaveTriage(ctx context.Context, all map[string]record.Triage, events ...record.Event) error
	// SaveMutes puts these in the place of all of the account's, and has the cards of attacks be drawn again that they are or were about.
	SaveMutes(ctx context.Context, all []record.Mute, attacks ...string) error
	// SaveProtected puts these in the place of all of the account's, and has the cards of attacks be drawn again that come from there.
	SaveProtected(ctx context.Context, all []record.Protected, attacks ...string) error
	// SaveLocked keeps for a while when the service said that its rules are locked; zero: they are no longer.
	SaveLocked(ctx context.Context, at time.Time) error
	// SavePermissionLoss writes a permission loss down.
	SavePermissionLoss(ctx context.Context, t record.PermissionLoss, events ...record.Event) error
	// SaveRequest writes a request for a second person down, new or again, with its audit entry if there is one, whose number it gives, and the time at which it
	// is to be looked at.
	SaveRequest(ctx context.Context, entry *record.AuditEntry, q record.ApprovalRequest, events ...record.Event) (n int64, err error)
	// SaveDrill puts a drill in the place of the account's last one.
	SaveDrill(ctx context.Context, d record.Drill, events ...record.Event) error
	Unlock()
}

// Due tells which changes have to be looked at.
type Due interface {
	// DueChanges are the ids of the account's changes at which it is time to look, what has waited longest first.
	DueChanges(ctx context.Context, account string, now time.Time) ([]string, error)
}

// Facts are attacks as they were last seen by the poller.
type KnownAttacks interface {
	// FindAttacks are the account's remembered attacks whose id, as AttackID makes it, begins so; by that id.
	FindAttacks(ctx context.Context, account, prefix string) (map[string]apiclient.Attack, error)
}

// AuditLog keeps the audit entries.
type AuditLog interface {
	// Append numbers and keeps an entry.
	Append(ctx context.Context, e record.AuditEntry) (n int64, err error)
	// Entries are the account's entries since then, the newest first.
	Entries(ctx context.Context, account string, since time.Time) ([]record.AuditEntry, error)
	// Trail are the account's entries since then, the oldest first, read as they are wanted. One that can't be read comes with its number, if
	// that can be, and ErrBadEntry; after another error there are no more.
	Trail(ctx context.Context, account string, since time.Time) iter.Seq2[record.AuditEntry, error]
	// Audited is the number of the account's last entry, also of one that is no longer kept; 0 if there never was one.
	Audited(ctx context.Context, account string) (int64, error)
}
