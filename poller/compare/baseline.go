package compare

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// leastWorse are the hits from which ten times as many as at the last mention is worse.
const leastWorse = 1000

// Worsened reports whether more is let through than before, or ten times as much comes.
func Worsened(b record.Baseline, a apiclient.Attack) bool {
	before, known := b.Status.PassRank()
	now, nowKnown := a.Status().PassRank()
	if known && nowKnown && now > before {
		return true
	}
	return b.Hits.Known && a.Hits.Known && a.Hits.N >= leastWorse && a.Hits.N/10 >= b.Hits.N
}

// Raised is the baseline after an observation, and after its event if kind is set.
func Raised(b record.Baseline, a apiclient.Attack, kind record.EventKind) record.Baseline {
	mentions := kind != record.Grew && kind != record.WentQuiet && kind != record.Resumed
	if a.Hits.Known && (mentions || !b.Hits.Known) {
		b.Hits = a.Hits
	}
	if _, known := a.Status().PassRank(); known {
		b.Status = a.Status()
	}
	b.Incident = b.Incident || a.Incident()
	return b
}
