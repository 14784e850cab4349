package call

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Saves is what a command wants written to the store. The Runner writes it, under the account's lock.
type Saves struct {
	Triage    []TriageSave
	Mutes     *MutesSave
	Protected *ProtectedSave
	Drill     *record.Drill
	OwnCards  []string  // ids of grouped attacks that get a card of their own
	TakenOver *TakeOver // told once all of Triage is written
}

// TriageSave is the triage of one attack.
type TriageSave struct {
	ID       string // as record.AttackID makes it
	Attack   apiclient.Attack
	Triage   record.Triage
	HandedTo string // the id of the person who was given the attack; "": no one was
}

// MutesSave takes the place of all the account's mutes.
type MutesSave struct {
	All   []record.Mute
	Stale []string // attacks whose cards the mutes are or were about
}

// ProtectedSave takes the place of all that is protected.
type ProtectedSave struct {
	All   []record.Protected
	Stale []string // attacks whose cards come from there
}

// TakeOver tells that somebody was put on all of an account's attacks at once. Who was on them before is in their cases: From of each owner
// since then.
type TakeOver struct {
	Account  string
	Delivery string // of the request
	To       string // the id of who is on them now
	Since    time.Time
}
