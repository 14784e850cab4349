package commands

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How many refusals of a person on an account are recorded one by one in an hour. The rest is counted, and what they
// may not do isn't answered any more.
const (
	refusalsEach      = 20 // of one with a role
	refusalsOfOutside = 3  // of one without
	maxOutside        = 50 // people without a role whose refusals are recorded; those of more are counted together
	refusalsFor       = time.Hour
	countEvery        = time.Minute
)

// maxRefusal is how many characters are recorded of a line that was not carried out, and of the reason why.
const maxRefusal = 500

// refusals counts what people are refused in an hour, so that nobody fills the audit log with it.
type refusals struct {
	mu      sync.Mutex
	ends    time.Time
	people  map[[2]string]int // how many are recorded, by account and person; nil: the hour hasn't begun
	outside int               // people in it who have no role
	more    map[string]int    // how many were only counted, by account
}

// count counts a refusal, and returns what to say of it; ok is false where it is to be recorded. What a person may not
// do is answered once more, with that it is only counted, and then no longer. What a person may do is: that it wasn't
// done is never left unsaid.
func (r *refusals) count(c *call.Call, e record.AuditEntry, err error) (said error, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.people == nil {
		r.people, r.more, r.ends = map[[2]string]int{}, map[string]int{}, e.At.Add(refusalsFor)
	}
	who, most := [2]string{e.Account, e.Actor.Team + "/" + e.Actor.ID}, refusalsEach
	if c.None() {
		most = refusalsOfOutside
		if r.people[who] == 0 && r.outside == maxOutside {
			who[1], most = "", 0 // together
		} else if r.people[who] == 0 {
			r.outside++
		}
	}
	n := r.people[who]
	if n < most {
		r.people[who]++
		return nil, false
	}
	r.more[e.Account]++
	refused, _ := errors.AsType[*refusal.Refusal](err)
	switch {
	case !errors.Is(err, refusal.ErrDenied) || c.Unsure || refused == nil: // who may be somebody is always answered
		return err, true
	case n > most:
		return fmt.Errorf("%w: %w", err, refusal.ErrUnanswered), true
	}
	r.people[who]++ // it is said
	last := *refused
	last.Text = text.Newf("%v. Much was refused here within an hour: until %v what you may not do gets no answer",
		refused.All(), text.Clock(r.ends))
	last.Next, last.Cause = nil, err
	return &last, true
}

// ended takes how many were only counted, by account, if their hour ends until then.
func (r *refusals) ended(until time.Time) (more map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until.Before(r.ends) {
		return nil
	}
	more = r.more
	r.people, r.more, r.outside = nil, nil, 0
	return more
}
