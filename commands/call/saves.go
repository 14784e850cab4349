package call

import (
	"github.com/wafbot/wafbot/internal/record"
)

// Saves is what a command wants written to the store. The Runner writes it, under the account's lock.
type Saves struct {
	Triage    map[string]record.Triage // by attack
	Mutes     *MutesSave
	Protected *ProtectedSave
	Drill     *record.Drill
	OwnCards  []string       // ids of grouped attacks that get a card of their own
	Events    []record.Event // stored in one step with Triage or Drill
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
