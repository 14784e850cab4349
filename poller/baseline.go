package poller

import (
	"net/netip"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// leastWorse are the hits from which ten times as many as when people were last called is worse.
const leastWorse = 1000

// exceeded reports whether more is let through than before, or ten times as much is coming.
func baselineExceeded(b record.Baseline, a apiclient.Attack) bool {
	was, known := letThrough(b.Status)
	is, now := letThrough(a.Status())
	if known && now && is > was {
		return true
	}
	return b.Hits.Known && a.Hits.Known && a.Hits.N >= leastWorse && a.Hits.N/10 >= b.Hits.N
}

// raised takes in an attack that was seen, and told for the reason if there is one.
func baselineRaised(b record.Baseline, a apiclient.Attack, reason record.EventKind) record.Baseline {
	calls := reason != record.Grew && reason != record.WentQuiet && reason != record.Resumed
	if a.Hits.Known && (calls || !b.Hits.Known) {
		b.Hits = a.Hits
	}
	if _, known := letThrough(a.Status()); known {
		b.Status = a.Status()
	}
	b.Incident = b.Incident || a.Incident()
	return b
}

// letThrough ranks a status.
func letThrough(s apiclient.Status) (rank int, known bool) {
	switch s {
	case apiclient.StatusBlocked:
		return 0, true
	case apiclient.StatusPartly:
		return 1, true
	case apiclient.StatusNotBlocked:
		return 2, true
	}
	return 0, false
}

func topSource(a apiclient.Attack) netip.Addr {
	if len(a.Sources) == 0 {
		return netip.Addr{}
	}
	return a.Sources[0].IP
}
