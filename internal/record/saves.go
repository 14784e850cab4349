package record

import "time"

// Saves is what is written of an account in one step. What is left out stays as it is.
type Saves struct {
	Changes   []Change // new or again, with the times at which they are due; the cards of their attacks are stale
	Due       []DueDecision
	Request   *ApprovalRequest // new or again, with the time at which it is due
	Loss      *PermissionLoss
	Triage    map[string]Triage // by attack, until that is deleted; its card is stale
	Mutes     *[]Mute           // all, until the last of them is over
	Protected *[]Protected      // all
	Locked    *time.Time        // when the service said that its rules are locked, for a while; zero: they are no longer
	Drill     *Drill
	Stale     []string // attacks whose cards are
	Events    []Event
	Entry     *AuditEntry
}
