package commands

import (
	"context"
	"iter"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
)

// Ledger stores changes. An error of any of its methods means that nothing may be changed now; with refusal.ErrEmptied they fail while what Redis
// lost is being rebuilt.
type Ledger interface {
	// Begin reads what each change of an account goes by, in one round trip; attack is the one that the change is about, "" if none. What follows
	// from that is written as the draft.
	Begin(ctx context.Context, account, attack string) (record.Basis, Draft, error)
	// Resume claims a change that was begun before, with those that were claimed with it. It fails with refusal.ErrClaimed while somebody else
	// carries it out. The context ends when the claim is lost.
	Resume(ctx context.Context, ch record.Change) (held context.Context, c Claim, err error)
	// Changes are the account's changes, the newest first: all that are in force and those that ended lately.
	Changes(ctx context.Context, account string) ([]record.Change, error)
	// Efficacy is what was seen of the account's changes, by their ids.
	Efficacy(ctx context.Context, account string) (map[string]record.Efficacy, error)
}

// Draft is what is written about an account on the condition that nobody wrote since it was begun. Each save is one step: all of it is stored, with
// the events that follow from it, or nothing, with refusal.ErrChanged where somebody did write. Its own saves count as the draft's. One goroutine uses it.
type Draft struct {
	ChangeSaver
	TriageSaver
	AccountSaver
	Claimer
}

// Claimer claims what changes touch.
type Claimer interface {
	// Claim stores changes as begun, and gives the right to carry them out, all or none: whoever plans something that overlaps waits until their
	// outcome is known. The context ends when the claim is lost.
	Claim(ctx context.Context, all ...record.Change) (held context.Context, c Claim, err error)
}

// Claim is the right to carry changes out. One goroutine uses it.
type Claim interface {
	// SaveChanges stores changes again, with an audit entry if there is one, whose number it gives. It fails with refusal.ErrLost when somebody
	// else may have the claim by now.
	SaveChanges(ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change) (n int64, err error)
	// Release gives the claim up. What has no known outcome by then may be resumed by anybody.
	Release(ctx context.Context)
}

// ChangeSaver stores changes and the approval requests that they wait for.
type ChangeSaver interface {
	// SaveChanges stores changes, new or again, with the times at which they are to be checked, and an audit entry if there is one, whose number
	// it gives.
	SaveChanges(ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change) (n int64, err error)
	// SaveDue stores what was decided about changes whose end is near or past.
	SaveDue(ctx context.Context, events []record.Event, all ...change.DueDecision) error
	// SaveRequest stores an approval request, new or again, with the time at which it is to be checked, and an audit entry if there is one, whose
	// number it gives.
	SaveRequest(ctx context.Context, entry *record.AuditEntry, q record.ApprovalRequest, events ...record.Event) (n int64, err error)
}

// TriageSaver stores what people decide about attacks and sources.
type TriageSaver interface {
	// SaveTriage stores what people did about attacks, by their ids, and has their cards redrawn.
	SaveTriage(ctx context.Context, all map[string]record.Triage, events ...record.Event) error
	// SaveMutes puts these in the place of all of the account's, and has the cards of attacks be redrawn that they are or were about.
	SaveMutes(ctx context.Context, all []record.Mute, attacks ...string) error
	// SaveProtected puts these in the place of all of the account's, and has the cards of attacks be redrawn that come from there.
	SaveProtected(ctx context.Context, all []record.Protected, attacks ...string) error
	// SaveDrill puts a drill in the place of the account's last one.
	SaveDrill(ctx context.Context, d record.Drill, events ...record.Event) error
}

// AccountSaver stores what changes show about the account at the service.
type AccountSaver interface {
	// SaveLocked keeps for a while when the service said that its rules are locked; zero: they are no longer.
	SaveLocked(ctx context.Context, at time.Time) error
	// SavePermissionLoss stores a permission loss.
	SavePermissionLoss(ctx context.Context, t record.PermissionLoss, events ...record.Event) error
}

// Due says which changes have to be checked.
type Due interface {
	// DueChanges are the ids of the account's changes that are to be checked by now, what has waited longest first.
	DueChanges(ctx context.Context, account string, now time.Time) ([]string, error)
}

// KnownAttacks are attacks as the poller last saw them.
type KnownAttacks interface {
	// FindAttacks are the account's stored attacks whose id, as record.AttackID makes it, begins so; by that id. It scans all of them.
	FindAttacks(ctx context.Context, account, prefix string) (map[string]apiclient.Attack, error)
	// KnownAttack is the account's stored attack with that whole id; ok reports whether there is one.
	KnownAttack(ctx context.Context, account, id string) (attack apiclient.Attack, ok bool, err error)
}

// AttackHistory is what is kept of attacks, and of the times in which an account could not be polled.
type AttackHistory interface {
	// LastObservation is an attack as the poller last decided about it; ok reports whether that is known.
	LastObservation(ctx context.Context, account, attack string) (seen record.Observation, ok bool, err error)
	// Evidence is what is kept of an attack that people were notified of, for 30 days after it changed last; ok reports whether anything is.
	Evidence(ctx context.Context, account, attack string) (e record.Evidence, ok bool, err error)
	// Outages are the outages that ended since then, of the last 30 days, the oldest first, and the one that goes on.
	Outages(ctx context.Context, account string, since time.Time) ([]record.Outage, error)
}

// AuditLog stores the audit entries.
type AuditLog interface {
	// Append numbers and stores an entry.
	Append(ctx context.Context, e record.AuditEntry) (n int64, err error)
	// Entries are the account's entries since then, the newest first.
	Entries(ctx context.Context, account string, since time.Time) ([]record.AuditEntry, error)
	// Trail are the account's entries since then, the oldest first, read as they are wanted. One that can't be read comes with its number, if
	// that can be, and ErrBadEntry; after another error there are no more.
	Trail(ctx context.Context, account string, since time.Time) iter.Seq2[record.AuditEntry, error]
}

// AttackStates are attacks as the poller last decided about them.
type AttackStates interface {
	AttackState(ctx context.Context, account, attack string) (s record.AttackState, known bool, err error)
	// StatesOf are those of the attacks that are stored, by their ids.
	StatesOf(ctx context.Context, account string, attacks []string) (map[string]record.AttackState, error)
}

// TriageStore keeps what people decided about attacks, for as long as the attacks are stored, and what they muted.
type TriageStore interface {
	// TriageOf is an attack's; zero when people decided nothing about it.
	TriageOf(ctx context.Context, account, attack string) (record.Triage, error)
	// AllTriage is all of an account, by attack.
	AllTriage(ctx context.Context, account string) (map[string]record.Triage, error)
	// Mutes are the account's; some may be over.
	Mutes(ctx context.Context, account string) ([]record.Mute, error)
}

// AccountContexts are what is known of accounts beside their attacks.
type AccountContexts interface {
	AccountContext(ctx context.Context, account string) (record.AccountContext, error)
}

// PermissionLosses keeps each account's last one.
type PermissionLosses interface {
	// PermissionLoss is the account's last one; zero when there was none.
	PermissionLoss(ctx context.Context, account string) (record.PermissionLoss, error)
}

// Approvals keeps approval requests.
type Approvals interface {
	// Requests are the account's, the newest first, also those decided lately.
	Requests(ctx context.Context, account string) ([]record.ApprovalRequest, error)
}

// Storms are the stored storms, which group attacks that came too fast for a card each.
type Storms interface {
	// Storms are all of an account, until they are deleted with the attacks that they group; the newest first.
	Storms(ctx context.Context, account string) ([]record.StormSeen, error)
	// Grouped are the attacks that a storm groups, the one with the latest hit first; storm is its id as record.AttackID makes it.
	Grouped(ctx context.Context, account, storm string) ([]record.GroupedAttack, error)
}

// Drills keeps each account's last drill.
type Drills interface {
	// Drill is the last one; zero when there was none lately.
	Drill(ctx context.Context, account string) (record.Drill, error)
	// Serving is how many replicas run that can post and take clicks.
	Serving(ctx context.Context) (int, error)
}
