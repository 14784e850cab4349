package report

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// auditSlack is by how much the time of an entry may lie before that of one with a lower number: a request is stamped when it is begun and numbered
// when it is done, and machines' clocks differ.
const auditSlack = 15 * time.Minute

// keptEntry is what a check needs of an audit entry.
type keptEntry struct {
	n    int64
	at   time.Time
	line string
	cli  bool // its line went to a terminal
	sum  [sha256.Size]byte
}

func auditEntryBrief(e record.AuditEntry) keptEntry {
	text, err := json.Marshal(e)
	if err != nil {
		text = fmt.Append(nil, e) // a year over 9999 can't be written: it is its own text
	}
	return keptEntry{e.N, e.At, e.Line, e.Actor.Via == record.ViaCLI, sha256.Sum256(text)}
}

// auditCheck is an account's audit log held against its numbers, and against what was printed.
type auditCheck struct {
	Account  string         `json:"account"`
	Counter  int64          `json:"counter"` // the number of the last entry that was ever made
	Kept     int            `json:"kept"`    // entries in Redis
	Oldest   int64          `json:"oldest"`  // the lowest number of these
	Newest   int64          `json:"newest"`  // the highest
	Since    time.Time      `json:"since,omitzero"`
	Findings []auditFinding `json:"findings"`        // what is wrong
	Notes    []text.Text    `json:"notes,omitempty"` // what looks wrong and isn't

	kept []keptEntry
	byN  map[int64]int // index in kept
	now  time.Time
	keep time.Duration
}

// auditFinding is something wrong with an audit log.
type auditFinding struct {
	Kind    string    `json:"kind"` // missing, doubled, order, times, counter, unreadable, missing_in_log, missing_in_redis, different, emptied
	Numbers []int64   `json:"numbers,omitempty"`
	Text    text.Text `json:"text"` // what it is, what it means, and what to do
}

// VerifyAudit checks that the audit log is whole.
func VerifyAudit(c *call.Call, ctx context.Context, log call.AuditTrail) (call.Result, error) {
	checks := make([]*auditCheck, len(c.InScope))
	for i, a := range c.InScope {
		var err error
		if checks[i], err = checkAudit(c.For(a), ctx, log); err != nil {
			return call.Result{}, AuditUnknown(err)
		}
	}
	var strange text.Text
	if c.Log != nil {
		printed, err := readPrinted(c.Log)
		if err != nil {
			return call.Result{}, refusal.Usage(text.New("the log can't be read: ", err.Error()))
		}
		for _, check := range checks {
			check.compare(printed)
		}
		strange = printed.unchecked(checks)
	}
	res := call.Result{Account: c.OnlyAccount(), Data: checks}
	wrong := 0
	for _, check := range checks {
		wrong += len(check.Findings)
	}
	res.Lines = checkedLines(c, checks)
	if strange != nil {
		res.Lines = append(res.Lines, strange)
	}
	return verdictOnAudit(c, res, wrong), nil
}

// checkedLines say what was found. Of many accounts they are about those of which something was, in a chat about a few of these.
func checkedLines(c *call.Call, checks []*auditCheck) (lines []text.Text) {
	shown := checks
	if Together(c) {
		shown = slices.DeleteFunc(slices.Clone(checks), func(a *auditCheck) bool { return len(a.Findings) == 0 })
	}
	whole, left := len(checks)-len(shown), 0
	if Together(c) && c.Actor.Via != record.ViaCLI {
		left = max(0, len(shown)-maxHealth)
	}
	for _, check := range shown[:len(shown)-left] {
		lines = append(lines, check.lines()...)
	}
	if left > 0 {
		lines = append(lines, text.New("… and ", text.Count(left, "more account"), ": type ", text.Code("audit verify account=NAME")))
	}
	if whole > 0 {
		lines = append(lines, text.New(text.Count(whole, "account"), " without a finding"))
	}
	return lines
}

// verdictOnAudit ends the answer with what comes of it all.
func verdictOnAudit(c *call.Call, res call.Result, wrong int) call.Result {
	switch {
	case wrong > 0:
		res.Outcome = "failed"
		return res.And(text.New(text.Bold("Not whole: "), text.Count(wrong, "finding"), " above"))
	case c.Log == nil && c.Actor.Via == record.ViaCLI:
		return res.And(text.New(text.Bold("Whole"), " as far as Redis itself can say. ", text.Code("--log FILE"), " holds it against what wafbot printed"))
	case c.Log == nil:
		return res.And(text.New(text.Bold("Whole"), " as far as Redis itself can say. At the terminal ", text.Code("wafbot audit verify --log FILE"), " holds it against what wafbot printed"))
	}
	return res.And(text.New(text.Bold("Whole"), ": Redis and the log agree"))
}

// checkAudit reads the entries of the call's account and looks whether their numbers have gaps and doubles. Entries can be added meanwhile, so the counter is
// read before and after.
func checkAudit(c *call.Call, ctx context.Context, log call.AuditTrail) (*auditCheck, error) {
	account := c.Account.Name
	check := &auditCheck{Account: account, Findings: []auditFinding{}, byN: map[int64]int{}, now: c.Now, keep: c.AuditKeep}
	before, err := log.Audited(ctx, account)
	if err != nil {
		return nil, err
	}
	var unreadable []int64
	for e, err := range log.Trail(ctx, account, time.Time{}) {
		switch {
		case errors.Is(err, record.ErrBadEntry):
			unreadable = append(unreadable, e.N)
		case err != nil:
			return nil, err
		}
		check.kept = append(check.kept, auditEntryBrief(e))
	}
	if check.Counter, err = log.Audited(ctx, account); err != nil {
		return nil, err
	}
	check.find("unreadable", unreadable, "in Redis in a form that can't be read", "They were altered there. What wafbot printed says what they were")
	check.numbers(before)
	return check, nil
}

// numbers holds the kept entries against one another and against the counter as it was before they were read.
func (a *auditCheck) numbers(before int64) {
	var gaps, doubles, backwards, early []int64
	var latest time.Time
	for i, e := range a.kept {
		_, again := a.byN[e.n]
		switch {
		case again:
			doubles = append(doubles, e.n)
			continue
		case e.n < a.Newest:
			backwards = append(backwards, e.n)
		case a.Newest > 0:
			gaps = append(gaps, between(a.Newest, e.n)...)
		}
		a.byN[e.n], a.Newest = i, max(a.Newest, e.n)
		if !e.at.IsZero() && e.at.Before(latest.Add(-auditSlack)) || e.at.After(a.now.Add(auditSlack)) {
			early = append(early, e.n)
		}
		if e.at.After(latest) {
			latest = e.at
		}
	}
	gaps = slices.DeleteFunc(gaps, func(n int64) bool { _, there := a.byN[n]; return there })
	if a.Kept = len(a.kept); a.Kept > 0 {
		a.Oldest, a.Since = a.kept[0].n, a.kept[0].at
	}
	a.find("missing", gaps, "missing in Redis", "Entries were deleted, or Redis lost writes when a server of it failed. Look for these numbers in what wafbot printed (", text.Code("--log"), "), and who may delete in Redis")
	a.find("doubled", doubles, "in Redis more than once", "Redis went back to an earlier state, as after a failover or from a backup, and counted on from there. What wafbot printed says which was first")
	a.find("order", backwards, "in Redis behind higher ones", "The stream was written by hand, or Redis went back to an earlier state")
	a.find("times", early, "with a time that doesn't fit their neighbours'", "A machine's clock was wrong, or the entry was altered. Compare with what wafbot printed")
	if before > a.Newest {
		a.find("missing", between(a.Newest, before+1), "missing at the end: the counter is further", "The newest entries were deleted, or Redis lost them. Look for them in what wafbot printed")
	}
	if a.Counter < a.Newest {
		a.find("counter", []int64{a.Counter}, "where the counter stands, and entries have higher numbers", "The counter was set back: the next entries get numbers that are taken. Redis went back to an earlier state, or the counter was written by hand")
	}
	if a.Oldest > 1 {
		a.note("#1 to #", a.Oldest-1, " are no longer kept in Redis (", a.limits(), "): that is as it should be")
	}
}

// limits are the settings by which Redis keeps old entries no longer.
func (a *auditCheck) limits() text.Text {
	return text.AsCode("audit.keep")
}

// maxGap is how many numbers of a gap are noted: a counter that was written by hand must not fill this process's memory.
const maxGap = 100_000

// between are the numbers behind one and before another.
func between(from, to int64) (all []int64) {
	for n := max(from+1, to-maxGap); n < to; n++ {
		all = append(all, n)
	}
	return all
}

// find notes something wrong, if there are numbers for it.
func (a *auditCheck) find(kind string, numbers []int64, what string, meaning ...any) {
	if len(numbers) == 0 {
		return
	}
	slices.Sort(numbers)
	text := text.New(text.Bold(ranges(numbers)), " ", what, ". ", text.New(meaning...))
	a.Findings = append(a.Findings, auditFinding{kind, numbers, text})
}

func (a *auditCheck) note(parts ...any) { a.Notes = append(a.Notes, text.New(parts...)) }

// lines are what was found, for people.
func (a *auditCheck) lines() []text.Text {
	lines := []text.Text{text.New(text.Bold(a.Account), ": no entry was ever made, as far as Redis knows")}
	if a.Kept > 0 {
		lines = []text.Text{text.New(text.Bold(a.Account), ": ", apiclient.Known(int64(a.Kept)), " ", text.Plural(int64(a.Kept), "entry"), " in Redis, #", a.Oldest, " to #", a.Newest, ", since ", a.Since)}
	} else if a.Counter > 0 {
		lines = []text.Text{text.New(text.Bold(a.Account), ": no entry in Redis, and the counter stands at ", a.Counter)}
	}
	for _, f := range a.Findings {
		lines = append(lines, text.New("• ", f.Text))
	}
	for _, n := range a.Notes {
		lines = append(lines, text.New("• In order: ", n))
	}
	return lines
}

// maxGaps is how many ranges of numbers are written out.
const maxGaps = 10

// ranges writes sorted numbers as people do: #3, #5 to #9.
func ranges(numbers []int64) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] <= numbers[j]+1 {
			j++
		}
		part := fmt.Sprintf("#%d", numbers[i])
		if numbers[j] > numbers[i] {
			part = fmt.Sprintf("#%d to #%d", numbers[i], numbers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	if rest := len(parts) - maxGaps; rest > 0 {
		parts = append(parts[:maxGaps], fmt.Sprintf("and %d more places", rest))
	}
	return strings.Join(parts, ", ")
}
