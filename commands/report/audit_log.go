package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxPrinted is how long a line of a log may be.
const maxPrinted = 1 << 22

// printedLog is what wafbot printed, by account.
type printedLog struct {
	accounts   map[string]*printedAudit
	unreadable []int64 // numbers of lines
}

// printedAudit is what wafbot printed of an account's audit log.
type printedAudit struct {
	entries []keptEntry // as they were printed, without those that are numbered 0
	zero    []keptEntry // that Redis was away for
	first   time.Time   // the earliest time of them all
}

// readPrinted reads audit entries out of a log: whatever stands before one on its line, as a date of the machine's, and lines without one, are
// passed over.
func readPrinted(log io.Reader) (*printedLog, error) {
	p := &printedLog{accounts: map[string]*printedAudit{}}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, maxPrinted)
	for n := int64(1); lines.Scan(); n++ {
		at := bytes.Index(lines.Bytes(), []byte(`{"audit":`))
		if at < 0 {
			continue
		}
		var line Printed
		if err := json.NewDecoder(bytes.NewReader(lines.Bytes()[at:])).Decode(&line); err != nil {
			p.unreadable = append(p.unreadable, n)
			continue
		}
		p.add(line.Audit)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	if len(p.accounts)+len(p.unreadable) == 0 {
		return nil, errors.New("it holds no audit entry. They begin with {\"audit\": and are on wafbot's standard output")
	}
	return p, nil
}

func (p *printedLog) add(e record.AuditEntry) {
	a := p.accounts[e.Account]
	if a == nil {
		a = &printedAudit{first: e.At}
		p.accounts[e.Account] = a
	}
	a.first = record.Earlier(e.At, a.first)
	if e.N == 0 {
		a.zero = append(a.zero, auditEntryBrief(e))
		return
	}
	a.entries = append(a.entries, auditEntryBrief(e))
}

// unchecked counts the entries of the log that belong to none of the checked accounts; nil if there are none.
func (p *printedLog) unchecked(checks []*auditCheck) text.Text {
	var words text.Text
	for _, name := range slices.Sorted(maps.Keys(p.accounts)) {
		if name != "" && !slices.ContainsFunc(checks, func(c *auditCheck) bool { return c.Account == name }) {
			words = text.New(words, "Not checked: ", text.Count(len(p.accounts[name].entries), "entry"), " of account ", text.Code(text.Sanitize(name, text.MaxField)), ". ")
		}
	}
	return words
}

// compare holds what was printed against what is kept, both ways.
func (a *auditCheck) compare(p *printedLog) {
	a.find("unreadable", slices.Clone(p.unreadable), "are lines of the log, counted from its beginning, that hold half an audit entry", "What stores the log cut them: look for the whole lines at the source")
	printed := p.accounts[a.Account]
	if printed == nil {
		printed = &printedAudit{first: a.now}
	}
	seen := a.comparePrinted(printed)
	a.compareKept(printed, seen)
	if len(printed.zero) > 0 {
		a.note("numbered 0 in the log: ", len(printed.zero), ". Redis was away when they were made, and the log alone has them:", zeroText(printed.zero))
	}
}

// maxZero is how many entries that only the log has are listed.
const maxZero = 10

func zeroText(zero []keptEntry) text.Text {
	var words text.Text
	for _, e := range zero[:min(maxZero, len(zero))] {
		words = text.New(words, "\n", e.at, " ", text.Code(text.Sanitize(e.line, text.MaxPath)))
	}
	if rest := len(zero) - maxZero; rest > 0 {
		words = text.New(words, "\n… and ", rest, " more")
	}
	return words
}

// comparePrinted looks for each printed entry in Redis. It gives the numbers that were printed.
func (a *auditCheck) comparePrinted(p *printedAudit) map[int64]bool {
	seen := map[int64]bool{}
	sums := map[int64]keptEntry{}
	var doubled, twins, different, lost, before []int64
	older := 0
	for _, e := range p.entries {
		i, kept := a.byN[e.n]
		same := kept && a.kept[i].sum == e.sum
		twin, again := sums[e.n]
		switch {
		case again && twin.sum == e.sum:
			doubled = append(doubled, e.n)
			continue
		case !same && a.Oldest == 1 && e.at.Before(a.Since):
			before = append(before, e.n) // Redis was emptied since: its numbers are given again
			continue
		case again:
			twins = append(twins, e.n)
		}
		seen[e.n], sums[e.n] = true, e
		switch {
		case same || again:
		case kept:
			different = append(different, e.n)
		case e.n < a.Oldest && (a.keep == 0 || e.at.Before(a.now.Add(auditSlack-a.keep))):
			older++
		default:
			lost = append(lost, e.n)
		}
	}
	a.find("different", different, "not the same in Redis and in the log", "One of them was altered, or Redis went back to an earlier state and gave the number again. Compare both, as with ", text.Code("wafbot audit export"))
	a.find("doubled", twins, "in the log more than once, with different contents", "Redis went back to an earlier state and gave the numbers again, or the log was altered")
	a.find("doubled", doubled, "in the log more than once, with the same contents", "Most often the same log was given twice, or is collected twice")
	a.find("missing_in_redis", lost, "in the log and not in Redis, though not too old to be kept", "They were deleted in Redis, or a server of it failed and lost them. The log has them: keep it")
	a.find("emptied", before, "in the log from before Redis began to count again", "Redis was emptied, or its audit log was deleted. The log has these entries: keep it")
	if older > 0 {
		a.note("in the log alone, because Redis keeps them no longer (", a.limits(), "): ", older)
	}
	return seen
}

// compareKept looks for each kept entry in the log.
func (a *auditCheck) compareKept(p *printedAudit, seen map[int64]bool) {
	var missing, elsewhere, early []int64
	for _, e := range a.kept {
		switch {
		case seen[e.n]:
		case e.cli:
			elsewhere = append(elsewhere, e.n)
		case e.at.Before(p.first):
			early = append(early, e.n)
		default:
			missing = append(missing, e.n)
		}
	}
	a.find("missing_in_log", missing, "in Redis and not in the log", "The log isn't that of all replicas, lines of it were lost or deleted, or they came after it was copied. Give all logs: ", text.Code("--log A --log B"))
	if len(elsewhere) > 0 {
		a.note(ranges(elsewhere), " not in the log: asked at a terminal, where their lines went to standard error")
	}
	if len(early) > 0 {
		a.note(ranges(early), " not in the log: from before it begins, ", p.first)
	}
}
