package commands_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// trail is an audit log and what was printed of it, with a hundred refusals, one a minute, which a test alters.
type trail struct {
	*world
	printed []string
}

func newTrail(t *testing.T, change ...func(*commands.Config)) *trail {
	w := &trail{world: newWorld(t, change...)}
	for range 100 {
		w.pass(time.Minute)
		_, err := w.try(ann, fmt.Sprintf("remove 198.51.100.%d", w.ids+1))
		require.ErrorIs(t, err, refusal.ErrNothing)
	}
	w.printed = slices.Collect(strings.Lines(w.out.String()))
	require.Len(t, w.printed, 100)
	return w
}

// alter changes the entries as they are kept.
func (w *trail) alter(f func(all []record.AuditEntry) []record.AuditEntry) {
	w.audit.mu.Lock()
	defer w.audit.mu.Unlock()
	w.audit.entries = f(w.audit.entries)
}

// finding is one as programs get it.
type finding struct {
	Kind    string
	Numbers []int64
	Text    string
}

// verified is what audit verify says, with a log or without.
func (w *trail) verified(log ...string) (found []finding, said string) {
	w.t.Helper()
	inv := w.asks(atTerminal, "audit verify")
	if log != nil {
		inv.Log = strings.NewReader(strings.Join(log, ""))
	}
	res, err := w.do(inv)
	require.NoError(w.t, err)
	data, err := json.Marshal(res.Data)
	require.NoError(w.t, err)
	var checks []struct{ Findings []finding }
	require.NoError(w.t, json.Unmarshal(data, &checks))
	require.Len(w.t, checks, 1)
	require.Equal(w.t, len(checks[0].Findings) > 0, res.Outcome == "failed", "the exit code says it")
	for _, f := range checks[0].Findings {
		require.Contains(w.t, textOf(res), f.Text)
	}
	return checks[0].Findings, textOf(res)
}

// drop takes some of a list out.
func drop[T any](all []T, from, to int) []T { return slices.Delete(slices.Clone(all), from, to) }

func TestAuditVerify(t *testing.T) {
	t.Parallel()
	entries := func(f func(all []record.AuditEntry) []record.AuditEntry) func(*trail) {
		return func(w *trail) { w.alter(f) }
	}
	lines := func(f func(all []string) []string) func(*trail) {
		return func(w *trail) { w.printed = f(w.printed) }
	}
	for name, tt := range map[string]struct {
		alter func(w *trail)
		kinds []string // what is found with a log
		bare  []string // what Redis alone shows
		says  []string
	}{
		"whole": {alter: func(*trail) {}, says: []string{"100 entries in Redis, #1 to #100", "Redis and the log agree"}},
		"other lines in the log": {
			alter: lines(func(all []string) []string {
				return append([]string{"time=x level=INFO msg=\"watching\"\n", "\n", "Nov 20 03:00:00 host wafbot[1]: " + all[0]}, all[1:]...)
			}),
		},
		"a gap": {
			alter: entries(func(all []record.AuditEntry) []record.AuditEntry { return drop(drop(all, 50, 53), 10, 11) }),
			kinds: []string{"missing", "missing_in_redis"}, bare: []string{"missing"}, says: []string{"#11, #51 to #53 missing in Redis", "who may delete", "The log has them: keep it"},
		},
		"the newest are gone": {
			alter: entries(func(all []record.AuditEntry) []record.AuditEntry { return drop(all, 98, 100) }),
			kinds: []string{"missing", "missing_in_redis"}, bare: []string{"missing"}, says: []string{"#99 to #100 missing at the end"},
		},
		"all are gone": {
			alter: entries(func([]record.AuditEntry) []record.AuditEntry { return nil }),
			kinds: []string{"missing", "missing_in_redis"}, bare: []string{"missing"}, says: []string{"no entry in Redis, and the counter stands at 100"},
		},
		"trimmed": {
			alter: func(w *trail) {
				w.pass(400 * 24 * time.Hour)
				w.alter(func(all []record.AuditEntry) []record.AuditEntry { return drop(all, 0, 60) })
			},
			says: []string{"40 entries in Redis, #61 to #100", "#1 to #60 are no longer kept", "Redis keeps them no longer (audit.keep): 60"},
		},
		"the beginning is gone too early": {
			alter: entries(func(all []record.AuditEntry) []record.AuditEntry { return drop(all, 0, 60) }),
			kinds: []string{"missing_in_redis"}, says: []string{"#1 to #60 in the log and not in Redis, though not too old"},
		},
		"doubled": {
			alter: entries(func(all []record.AuditEntry) []record.AuditEntry { return slices.Insert(all, 6, all[4]) }),
			kinds: []string{"doubled"}, bare: []string{"doubled"}, says: []string{"#5 in Redis more than once"},
		},
		"out of order": {
			alter: entries(func(all []record.AuditEntry) []record.AuditEntry { return append(drop(all, 4, 5), all[4]) }),
			kinds: []string{"order", "times"}, bare: []string{"order", "times"}, says: []string{"#5 in Redis behind higher ones"},
		},
		"counted back": {
			alter: func(w *trail) { w.audit.counters["acme"] = 90 },
			kinds: []string{"counter"}, bare: []string{"counter"}, says: []string{"#90 where the counter stands"},
		},
		"another time": {
			alter: entries(func(all []record.AuditEntry) []record.AuditEntry {
				all[50].At = all[50].At.Add(-time.Hour)
				all[99].At = all[99].At.Add(time.Hour)
				return all
			}),
			kinds: []string{"times", "different"}, bare: []string{"times"}, says: []string{"#51, #100 with a time", "#51, #100 not the same in Redis and in the log"},
		},
		"a little off": {
			alter: func(w *trail) {
				w.alter(func(all []record.AuditEntry) []record.AuditEntry {
					all[50].At = all[40].At // begun then, and done after those between
					return all
				})
				text, err := json.Marshal(map[string]any{"audit": w.audit.all()[50]})
				require.NoError(w.t, err)
				w.printed[50] = string(text) + "\n"
			},
		},
		"another author": {
			alter: entries(func(all []record.AuditEntry) []record.AuditEntry { all[7].Actor.Name = "Mallory"; return all }),
			kinds: []string{"different"}, says: []string{"#8 not the same"},
		},
		"rubbish in Redis": {
			alter: entries(func(all []record.AuditEntry) []record.AuditEntry { all[7].Line = unreadable; return all }),
			kinds: []string{"unreadable", "different"}, bare: []string{"unreadable"}, says: []string{"#8 in Redis in a form that can't be read"},
		},
		"a line is gone": {
			alter: lines(func(all []string) []string { return drop(all, 20, 22) }),
			kinds: []string{"missing_in_log"}, says: []string{"#21 to #22 in Redis and not in the log", "--log A --log B"},
		},
		"the log begins later": {
			alter: lines(func(all []string) []string { return all[30:] }),
			says:  []string{"#1 to #30 not in the log: from before it begins"},
		},
		"the log is doubled": {
			alter: lines(func(all []string) []string { return append(all, all[3:5]...) }),
			kinds: []string{"doubled"}, says: []string{"#4 to #5 in the log more than once, with the same contents"},
		},
		"two of a number in the log": {
			alter: lines(func(all []string) []string { return append(all, strings.ReplaceAll(all[3], `"Ann"`, `"Eve"`)) }),
			kinds: []string{"doubled"}, says: []string{"#4 in the log more than once, with different contents"},
		},
		"half a line": {
			alter: lines(func(all []string) []string { all[3] = all[3][:100] + "\n"; return all }),
			kinds: []string{"unreadable", "missing_in_log"}, says: []string{"#4 are lines of the log"},
		},
		"Redis was away": {
			alter: lines(func(all []string) []string {
				return append(all, strings.Replace(all[3], `"n":4,`, `"n":0,`, 1))
			}),
			says: []string{"numbered 0 in the log: 1. Redis was away", "remove 198.51.100.4"},
		},
		"Redis was emptied": {
			alter: func(w *trail) {
				w.pass(time.Minute)
				w.audit.counters["acme"] = 0
				w.alter(func([]record.AuditEntry) []record.AuditEntry { return nil })
				w.does(ann, "deny 203.0.113.250")
				w.printed = slices.Collect(strings.Lines(w.out.String()))
			},
			kinds: []string{"emptied"}, says: []string{"#1 to #100 in the log from before Redis began to count again"},
		},
		"asked at a terminal": {
			alter: func(w *trail) {
				w.pass(time.Minute)
				w.does(record.Actor{ID: "cli:root", Name: "root", Via: record.ViaCLI}, "deny 203.0.113.250")
			},
			says: []string{"#101 not in the log: asked at a terminal"},
		},
		"another account in the log": {
			alter: lines(func(all []string) []string {
				return append(all, strings.Replace(all[3], `"account":"acme"`, `"account":"other"`, 1))
			}),
			says: []string{"Not checked: 1 entry of account other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTrail(t, func(c *commands.Config) { c.AuditKeep = 399 * 24 * time.Hour })
			tt.alter(w)
			kinds := func(found []finding) (all []string) {
				for _, f := range found {
					all = append(all, f.Kind)
				}
				return all
			}
			bare, said := w.verified()
			require.Equal(t, tt.bare, kinds(bare), said)
			found, said := w.verified(w.printed...)
			require.Equal(t, tt.kinds, kinds(found), said)
			for _, part := range tt.says {
				require.Contains(t, said, part)
			}
		})
	}
}

func TestAuditVerifyOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Contains(t, textOf(w.reads(eve, "audit verify")), "no entry was ever made")
	inv := w.asks(atTerminal, "audit verify")
	inv.Log = strings.NewReader("nothing of the kind\n")
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrUsage)
	require.ErrorContains(t, err, "it holds no audit entry")
	w.audit.setFail(true)
	_, err = w.try(eve, "audit verify")
	require.ErrorIs(t, err, refusal.ErrAway)
	_, err = w.try(eve, "audit exprot")
	require.ErrorIs(t, err, refusal.ErrUsage)
}

func TestAuditExport(t *testing.T) {
	t.Parallel()
	w := newTrail(t)
	w.pass(time.Minute)
	w.does(bob, "deny 203.0.113.250")
	export := func(line string) (lines string, faults int) {
		for item, err := range w.reads(atTerminal, line).Stream {
			if err != nil {
				faults++
				continue
			}
			text, err := json.Marshal(item)
			require.NoError(t, err)
			lines += string(text) + "\n"
		}
		return lines, faults
	}
	all, faults := export("audit export")
	require.Equal(t, w.out.String(), all, "the very lines that were printed")
	require.Zero(t, faults)
	lately, _ := export("audit export since=3m")
	require.Equal(t, 4, strings.Count(lately, "\n"))
	bobs, _ := export("audit export by=bob")
	require.Equal(t, 1, strings.Count(bobs, "\n"))
	w.alter(func(all []record.AuditEntry) []record.AuditEntry { all[7].Line = unreadable; return all })
	rest, faults := export("audit export")
	require.Equal(t, 100, strings.Count(rest, "\n"))
	require.Equal(t, 1, faults)

	res := w.reads(eve, "audit export since=2h by=bob")
	require.Nil(t, res.Stream)
	require.Contains(t, textOf(res), "wafbot audit export account=acme by=bob since=2h")
}
