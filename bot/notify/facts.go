package notify

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
	"github.com/wafbot/wafbot/poller"
)

// facts are what a message is made of, beside the event. What was not needed, or is not known, is zero.
type facts struct {
	account   Account
	policy    policy.Policy
	runbooks  map[string]string
	settings  poller.Settings // lists and rules as last read
	health    poller.Health
	now       time.Time
	changes   []record.Change // the account's
	change    record.Change
	extended  record.Change // the change that this one extends
	attack    string        // id of the event's attack
	card      record.Place
	shown     record.AttackState
	known     bool // shown is
	shared    bool // other accounts have cards in the channel of the attack's
	details   record.AttackDetails
	begun     *record.Attempt // of the attempt to post the attack's first card; nil: none was begun
	waiting   []record.Event  // the poller's events of the attack that wait
	posted    time.Time       // when the attack's card was; zero: it is about to be
	since     time.Time       // since when that is stale; zero: it isn't known to be
	triage    map[string]record.Triage
	roles     text.Text
	successor text.Text // a line that leads to the card
	request   record.ApprovalRequest
	loss      record.PermissionLoss
	kept      kept
	drill     record.Drill
	summary   call.Result
}

// ops is whom the failure of a change mentions: whom the account names for that, else whom the route of its attack
// mentions, but not in quiet hours.
func (f facts) ops() string {
	if f.account.OpsMention != "" || f.attack == "" {
		return f.account.Ops()
	}
	return card.Recipient(nil, f.shown.Mention, f.shown.Suppressed)
}

// kept is a message that is kept true: posted first, edited later.
type kept struct {
	in       messages // nil: the event is about none
	id       string
	at       record.Place // zero: it isn't known to be anywhere
	shows    int          // the revision that it shows
	revision int          // the newest
}

// messages holds where messages are that are kept true: approval requests' cards, or the notice of a permission loss.
type messages interface {
	// MessageAt is where the message with that id is, and the revision that it shows; ts is "" if it isn't known to be
	// anywhere.
	MessageAt(ctx context.Context, account, id string) (channel, ts string, revision int, err error)
	SaveMessageAt(ctx context.Context, account, id, channel, ts string, revision int) error
}
