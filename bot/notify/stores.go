package notify

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Stores are what the Notifier reads and writes.
type Stores struct {
	Outbox      Outbox
	Cards       Cards
	Attacks     Attacks
	Triage      Triage
	Changes     Changes
	Redraws     Redraws
	Permissions Permissions
	Approvals   Approvals
	Drills      Drills
	Pace        Pace
}

// Outbox holds the events that must be notified.
type Outbox interface {
	Waiting(ctx context.Context, account string) ([]record.Event, error)
	// BeginNotify writes down that a delivery is about to be posted.
	BeginNotify(ctx context.Context, account, delivery string, now time.Time) (record.Attempt, error)
	// Notified takes an event off, and records where its message is, and that it is its attack's card. double reports that another place is recorded.
	Notified(ctx context.Context, e record.Event, channel, ts string, card bool) (double bool, err error)
	// Announce puts an event there, or in the place of the one with its id.
	Announce(ctx context.Context, e record.Event) error
}

// Cards says where cards are, and what they are drawn from.
type Cards interface {
	Card(ctx context.Context, account, attack string) (channel, ts string, err error)
	// Details is all that is stored about an attack.
	Details(ctx context.Context, account, attack string) (record.AttackDetails, error)
	// BeginCard is Details and the outbox's BeginNotify, in one round trip.
	BeginCard(ctx context.Context, account, attack, delivery string, now time.Time) (record.AttackDetails, record.Attempt, error)
}

// Attacks reads what polls found about attacks.
type Attacks interface {
	AttackState(ctx context.Context, account, attack string) (shown record.AttackState, ok bool, err error)
}

// Triage reads what people did about attacks.
type Triage interface {
	// AllTriage is that of all of an account's attacks, by their ids.
	AllTriage(ctx context.Context, account string) (map[string]record.Triage, error)
}

// Changes reads the changes of an account.
type Changes interface {
	// Changes are all, the newest first.
	Changes(ctx context.Context, account string) ([]record.Change, error)
	// Change is the one with that id; zero if it isn't stored.
	Change(ctx context.Context, account, id string) (record.Change, error)
}

// Redraws holds the marks of stale cards.
type Redraws interface {
	Stale(ctx context.Context, account string) (map[string]record.RedrawMark, error)
	MarkStale(ctx context.Context, account, attack string, urgency record.Urgency) error
	Redrawn(ctx context.Context, account, attack string, mark record.RedrawMark) error
}

// Messages holds where messages are that are kept true.
type Messages interface {
	// MessageAt is where the message with that id is, and the revision that it shows; ts is "" if it isn't known to be anywhere.
	MessageAt(ctx context.Context, account, id string) (channel, ts string, revision int, err error)
	SaveMessageAt(ctx context.Context, account, id, channel, ts string, revision int) error
}

// Permissions holds an account's permission loss, and where its notice is.
type Permissions interface {
	Messages
	// PermissionLoss is the account's last permission loss; zero when there was none.
	PermissionLoss(ctx context.Context, account string) (record.PermissionLoss, error)
}

// Approvals holds approval requests, and where they are shown.
type Approvals interface {
	Messages
	Requests(ctx context.Context, account string) ([]record.ApprovalRequest, error)
}

// Drills holds each account's last drill.
type Drills interface {
	// Drill is the last one; the zero Drill when there was none lately.
	Drill(ctx context.Context, account string) (record.Drill, error)
}

// Pace gives out the right to post and to edit, over all replicas. Who keeps something leaves as much for what is more urgent. Edits have their turn
// over all accounts of the workspace.
type Pace interface {
	PostSlot(ctx context.Context, channel string, perSecond float64, burst, keep int) (wait time.Duration, err error)
	EditSlot(ctx context.Context, perMinute int, turn record.EditTurn) (wait time.Duration, err error)
}
