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

// How much of what people are refused is recorded one by one, in each account. The rest is counted, and what they may not do isn't answered any more.
const (
	refusalsEach     = 20 // of a person in an hour
	refusalsOfOthers = 3  // of all people without a role in an hour
	refusalsFor      = time.Hour
	maxRefused       = 256 // people whose refusals are counted apart; more count as others
	countEvery       = time.Minute
)

// maxRefusal is how many characters are recorded of a line that was not carried out, and of the reason why.
const maxRefusal = 500

// refusals counts what people are refused, so that nobody fills the audit log with it.
type refusals struct {
	mu     sync.Mutex
	counts map[refused]*refusalCount
}

// refused is who is refused, and on which account.
type refused struct{ account, person string } // person "": somebody without a role

// refusalCount is what a person was refused in an hour.
type refusalCount struct {
	ends     time.Time
	recorded int
	more     int               // that were only counted
	last     record.AuditEntry // of those
	told     map[string]bool   // that it is so, by person; more than maxRefused count as told
}

// count gives until when a refusal is only counted, because as many were recorded in this hour as are, and whether the person was told that already: with the first that
// denied what the person may not do. The zero time: it is to be recorded.
func (r *refusals) count(c *call.Call, e record.AuditEntry, denied bool) (until time.Time, told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	person := e.Actor.Team + "/" + e.Actor.ID
	who, most := refused{e.Account, ""}, refusalsOfOthers
	if known := (refused{e.Account, person}); !c.None() && (r.counts[known] != nil || len(r.counts) < maxRefused) {
		who, most = known, refusalsEach
	}
	n := r.counts[who]
	if n == nil || n.more == 0 && !e.At.Before(n.ends) {
		n = &refusalCount{ends: e.At.Add(refusalsFor), told: map[string]bool{}}
		r.counts[who] = n
	}
	if n.recorded < most {
		n.recorded++
		return time.Time{}, false
	}
	if n.last = e; who.person == "" {
		n.last.Actor = record.Actor{Name: "others", Via: e.Actor.Via}
	}
	n.more++
	told = n.told[person] || len(n.told) == maxRefused
	if denied && !told {
		n.told[person] = true
	}
	return n.ends, told
}

// counted is a refusal that is only counted. What a person may not do is answered once more, with that it is so, and then no longer; what a person may do is: that it wasn't
// done is never left unsaid.
func counted(err error, denied bool, until time.Time, told bool) error {
	if !denied {
		return err
	}
	if told {
		return fmt.Errorf("%w: %w", err, refusal.ErrUnanswered)
	}
	refused, ok := errors.AsType[*refusal.Refusal](err)
	if !ok {
		return err
	}
	said := *refused
	said.Cause = err
	said.Text, said.Next = text.New(refused.All(), ". Much was refused here within an hour: until ", text.Clock(until), " what you may not do gets no answer"), nil
	return &said
}

// ended takes the counts whose hour ends until then, and gives an entry for each that counted something.
func (r *refusals) ended(until time.Time) (entries []record.AuditEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for who, n := range r.counts {
		if until.Before(n.ends) {
			continue
		}
		delete(r.counts, who)
		if n.more > 0 {
			n.last.Why = text.New("and ", text.Number(n.more), " more refused until ", text.Clock(n.last.At)).String()
			entries = append(entries, n.last)
		}
	}
	return entries
}
