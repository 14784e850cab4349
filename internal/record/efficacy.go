package record

import (
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/text"
)

// Efficacy is what was seen of a change since it was accepted, and what that was judged to mean. What was seen only
// grows.
type Efficacy struct {
	Parts   map[string]Traffic `json:"parts,omitempty"` // of each source that it denies, as the grammar writes it; of a rule under ""
	Finding Finding            `json:"finding,omitempty"`
	At      time.Time          `json:"at,omitzero"`      // of the snapshot by which it was judged so, on this machine's clock
	From    time.Time          `json:"from,omitzero"`    // without a gap it was watched since; zero: since it was accepted
	Since   time.Time          `json:"since,omitzero"`   // the finding is this one since then
	Off     bool               `json:"off,omitempty"`    // what it made was not listed at the service when the lists and rules were read last
	Ends    time.Time          `json:"ends,omitzero"`    // it was changed at the service to end then, sooner than it was made to; zero: not as far as is known
	Called  []Finding          `json:"called,omitempty"` // what people were called about; between two failures that it worked again
	Why     []text.Span        `json:"why,omitempty"`    // a Text: the likely reasons for which it does not work
	Said    []Remark           `json:"said,omitempty"`   // what cards said of it whenever it turned, the oldest first
}

// Remark is what a card said of a change from a time on.
type Remark struct {
	At   time.Time   `json:"at"`
	Text []text.Span `json:"text"`
}

// Calls is how many times people were called about a finding.
func (e Efficacy) Calls(f Finding) (n int) {
	for _, called := range e.Called {
		if called == f {
			n++
		}
	}
	return n
}

// LastCall is what people were called about last, or that it worked since.
func (e Efficacy) LastCall() Finding {
	if len(e.Called) == 0 {
		return NotYet
	}
	return e.Called[len(e.Called)-1]
}

// Stopped is how many hits were reported as stopped.
func (e Efficacy) Stopped() (n int64) {
	for _, t := range e.Parts {
		n += t.Stopped.N
	}
	return n
}

// Traffic is what was seen of the hits that a change is to stop. None of it is exact: the service counts samples.
type Traffic struct {
	Through Tally `json:"through,omitzero"` // let through; counted from when the change was to work for sure, its Last since it was accepted
	Mixed   Tally `json:"mixed,omitzero"`   // in records that the service blocks in another way, in part or whole, so that it is unknown whether they got through; likewise
	Stopped Tally `json:"stopped,omitzero"` // at least so many
	After   Tally `json:"after,omitzero"`   // let through since a denial expired
}

// Tally counts hits.
type Tally struct {
	N     int64     `json:"n,omitempty"`
	First time.Time `json:"first,omitzero"` // of those that are counted
	Last  time.Time `json:"last,omitzero"`
}

// Finding is what a change was found to do.
type Finding string

// The findings.
const (
	NotYet          Finding = ""                // it need not work yet, as far as is known
	Working         Finding = "working"         // it stops something, and nothing gets through
	PartlyWorking   Finding = "partly"          // it stops something, and something gets through all the same
	NotWorking      Finding = "not_working"     // well after it was to work nothing is stopped and something gets through
	EfficacyUnknown Finding = "unknown"         // nothing was seen by which it can be judged
	SourceReturned  Finding = "source_returned" // it was a denial that expired, and its source was still trying at the end, or gets through since
)

// Afterwards is what is found of a denial that expired: a finding stays what it was unless the source goes on.
func (e Efficacy) Afterwards(c Change, ongoing time.Duration) Finding {
	for _, t := range e.Parts {
		if t.After.N > 0 || t.TriedUntil(c.Until, ongoing) {
			return SourceReturned
		}
	}
	return e.Finding
}

// TriedUntil reports whether its source went on when the denial expired, as far as what was stopped shows.
func (t Traffic) TriedUntil(end time.Time, ongoing time.Duration) bool {
	return t.Stopped.N > 0 && end.Sub(t.Stopped.Last) < ongoing
}

// Figures are all hits that were counted.
func (e Efficacy) Figures() (n int64) {
	for _, t := range e.Parts {
		n += t.Through.N + t.Mixed.N + t.Stopped.N + t.After.N
	}
	return n
}

// Judgement is a change with what was seen of it.
type Judgement struct {
	Change   Change
	Efficacy Efficacy
	Turned   bool // the finding, in words, is another than before
	Notify   bool // people are notified: it does not work though it should, or what it denied came back
}

// Urgency is how soon the card is to show it: who made the change waits for the outcome.
func (j Judgement) Urgency() Urgency {
	if j.Turned {
		return UrgentActed
	}
	return UrgentFigures
}

// Mitigation is something in force against an attack, whoever did it: a change of wafbot's, or an entry or rule that
// others made at the service.
type Mitigation struct {
	Does    string       `json:"does"`              // in words: Deny country:FR
	Change  string       `json:"change,omitempty"`  // the id of wafbot's change; "": others made it, in the service's console or by its API
	By      string       `json:"by,omitempty"`      // a person, or the author as the service lists it; "": not known
	ID      int64        `json:"id,omitempty"`      // of the entry or rule at the service; 0: it is a change
	Rule    bool         `json:"rule,omitempty"`    // what it stops doesn't depend on the source
	Sources []netip.Addr `json:"sources,omitempty"` // those of the attack's that it denies
	Finding Finding      `json:"finding,omitempty"`
	Stopped int64        `json:"stopped,omitempty"` // hits that were seen stopped, at least
	Last    time.Time    `json:"last,omitzero"`     // of them; zero: none was
	Others  int64        `json:"-"`                 // with PartlyWorking: it works, and up to so many other sources get through; 0: what it is to stop gets through in part
	Since   time.Time    `json:"since,omitzero"`    // it was made; zero: not known
	Due     time.Time    `json:"due,omitzero"`      // it was to work by then
	Until   time.Time    `json:"until,omitzero"`    // zero: it has no end, as far as is known
}

// Works reports whether it was seen to stop something and still does.
func (m Mitigation) Works() bool { return m.Finding == Working || m.Finding == PartlyWorking }

// Denies reports whether it denies a source of the attack.
func (m Mitigation) Denies(source apiclient.Source) bool {
	return slices.Contains(m.Sources, source.IP)
}

// Poll is what a complete poll found. The judge goes by it.
type Poll struct {
	At      time.Time       // on the service's clock
	Since   time.Time       // of the poll before that was judged; zero: what stood there before isn't known
	Changes []AttackDelta   // the records that changed since
	Attacks []*AttackState  // with a card: the decided ones, and where the lists were read again all that go on
	Decided map[string]bool // ids of attacks with a decision that isn't judged yet

	// The lists and rules as they were read last, and when; zero: not yet.
	Entries     []apiclient.IPRule
	Rules       []apiclient.Rule
	ListsReadAt time.Time
}

// Judged is the judgement of a poll, as far as it is worth showing.
type Judged struct {
	Changes []Judgement
	Others  map[string][]Mitigation // what others have in force, by the attack's id at the service; only where it turned
	Stale   []string                // ids of attacks and storms whose cards say something else now
	Events  []Event
}
