package card

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// ending is a denial that ends in a quarter of an hour.
func ending() record.Change {
	return record.Change{
		ID: "ck7q2m9xw", Account: "acme", AttackID: "ak7q2m9xw", Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}}.With("for", "4h"),
		Does: "Deny 203.0.113.7 everywhere for 4 h", Actor: anna(), At: now.Add(-225 * time.Minute), Until: now.Add(15 * time.Minute), State: record.StateDone,
		Steps: []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{}, Sent: true, Done: true}},
	}
}

// endedLate is the undo of a mode that should have returned before.
func endedLate() record.Change {
	late := switched()
	return record.Change{
		ID: "cu2d8e1rt", Account: "acme", Line: record.Line{Name: "undo", Words: []string{late.ID}}, Does: "Undo of: " + late.Does, Undoes: late.ID,
		Actor: record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}, At: now, State: record.StateDone, Late: &record.Late{Due: late.Until},
	}
}

func TestRenderWhatEnds(t *testing.T) {
	t.Parallel()
	late, _, _ := ChangeSettled(endedLate(), record.Change{}, "", nil)
	silent, longest, overdue := ending(), ending(), switched()
	silent.Renew, longest.Renew = now.Add(20*time.Hour), longest.Until
	overdue.Late = &record.Late{Due: overdue.Until, Why: "the service has locked its rules just now: try again in some minutes"}
	for name, m := range map[string]Message{
		"ends": MitigationEnding(ending(), "U0ROB", "", now), "ends-unless-still-trying": MitigationEnding(silent, "U0ROB", "", now), "ends-as-long-as-may-be": MitigationEnding(longest, "", "ak7q2m9xw", now),
		"ended":      MitigationEnding(ending(), "U0ROB", "", ending().Until.Add(time.Minute)),
		"overdue":    EndOverdue(acme(), overdue, "U0ANN", now),
		"ended-late": late,
	} {
		requireFits(t, m)
		golden(t, filepath.Join("testdata", "due", name+".json"), pretty(t, m))
	}
}
