package chaos

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// The table of a run stands in its document between these.
const (
	tableBegins = "<!-- make scale writes from here -->"
	tableEnds   = "<!-- to here -->"
)

// idleReplica is what a replica without accounts takes, in bytes: docs/reliability.md has it.
const idleReplica = 30 << 20

// row is a line of the table.
type row struct {
	what string
	of   func(m measured) string
}

func percent(used, of time.Duration) string {
	return fmt.Sprintf("%.1f %%", 100*used.Seconds()/of.Seconds())
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

// ratio is a duration in ms, and how many round trips that is.
func ratio(d, trip time.Duration) string {
	return fmt.Sprintf("%s (%.1f)", millis(d), float64(d)/float64(trip))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func (m measured) perAccount(n int64) float64 { return float64(n) / float64(m.size.Accounts) }

func (m measured) perAccountSecond(n int64, in time.Duration) float64 {
	return m.perAccount(n) / in.Seconds()
}

// costRows are what it costs.
func costRows() []row {
	return []row{
		{"**at rest**: processors of all replicas, of one core", func(m measured) string { return percent(m.rest.replicas, m.rest.took) }},
		{"… of an account, µs a second", func(m measured) string {
			return fmt.Sprintf("%.0f", m.perAccountSecond(int64(m.rest.replicas/time.Microsecond), m.rest.took))
		}},
		{"… of Redis' masters; of the emulators", func(m measured) string {
			return percent(m.rest.redis.cpu, m.rest.took) + "; " + percent(m.rest.world, m.rest.took)
		}},
		{"memory of all replicas, MB; of an account beside 30 MB of each replica, kB", func(m measured) string {
			return fmt.Sprintf("%d; %.0f", m.rest.resident>>20, m.perAccount(m.rest.resident-int64(m.replicas)*idleReplica)/1024)
		}},
		{"Redis of an account, kB", func(m measured) string { return fmt.Sprintf("%.1f", m.perAccount(m.rest.redis.memory)/1024) }},
		{"commands a second of an account, those in scripts included; bytes a second", func(m measured) string {
			return fmt.Sprintf("%.1f; %.0f", m.perAccountSecond(m.rest.redis.commands, m.rest.took), m.perAccountSecond(m.rest.redis.bytes, m.rest.took))
		}},
		{"requests of the service a minute of an account", func(m measured) string {
			return fmt.Sprintf("%.1f", 60*m.perAccountSecond(int64(m.restAt.Requests), m.rest.took))
		}},
		{"**under load**: processors of all replicas; of Redis' masters; of the emulators", func(m measured) string {
			return percent(m.busy.replicas, m.busy.took) + "; " + percent(m.busy.redis.cpu, m.busy.took) + "; " + percent(m.busy.world, m.busy.took)
		}},
		{"memory of all replicas, MB", func(m measured) string { return fmt.Sprint(m.busy.resident >> 20) }},
	}
}

// timeRows are how long it takes.
func timeRows() []row {
	return []row{
		{"cards; messages; edits; calls that Slack refused; messages that it hid", func(m measured) string {
			return fmt.Sprintf("%d; %d; %d; %d; %d", len(m.loadSaw.Cards), m.loadSaw.Posts, m.loadSaw.Edits, m.loadSaw.Refused, m.loadSaw.Hidden)
		}},
		{"from the service's answer to the card, ms (round trips): median; of 95 %", func(m measured) string {
			return ratio(part(m.loadSaw.Cards, 0.5), m.httpTrip) + "; " + ratio(part(m.loadSaw.Cards, 0.95), m.httpTrip)
		}},
		{"a card after its turn in its channel, ms: median; of 95 %; the last", func(m measured) string {
			return millis(part(m.loadSaw.Behind, 0.5)) + "; " + millis(part(m.loadSaw.Behind, 0.95)) + "; " + millis(part(m.loadSaw.Behind, 1))
		}},
		{"the storms' cards: how many; the last", func(m measured) string {
			return fmt.Sprintf("%d; %s", len(m.loadSaw.Storms), seconds(part(m.loadSaw.Storms, 1)))
		}},
		{"a click is acknowledged, ms (round trips): median; of 95 %", func(m measured) string {
			return ratio(part(m.loadSaw.Acked, 0.5), m.httpTrip) + "; " + ratio(part(m.loadSaw.Acked, 0.95), m.httpTrip)
		}},
		{"a click is answered, ms (round trips): median; of 95 %", func(m measured) string {
			return ratio(part(m.loadSaw.Answered, 0.5), m.httpTrip) + "; " + ratio(part(m.loadSaw.Answered, 0.95), m.httpTrip)
		}},
		{"**replicas killed**: all its accounts have an owner again", func(m measured) string { return seconds(m.watched) }},
		{"an account of it is polled again: median; the last", func(m measured) string { return seconds(part(m.polled, 0.5)) + "; " + seconds(part(m.polled, 1)) }},
		{"the longest between two polls of an account, every 15 s: under load; with kills", func(m measured) string { return seconds(m.loadSaw.Gap) + "; " + seconds(m.left.Gap) }},
		{"**in the end**: attacks that are worth a card; lost; twice; clicks that nobody took; clicks without an answer", func(m measured) string {
			return fmt.Sprintf("%d; %d; %d; %d; %d", m.left.Wanted, m.left.Wanted-m.left.Posted, m.left.Twice, m.loadSaw.Unacked+m.left.Unacked, m.left.Unanswered)
		}},
	}
}

// scaleTable shows what runs found, each in a column.
func scaleTable(all []measured) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	first := all[0]
	fmt.Fprintf(&b, "%d accounts with %d attacks each, %d channels, %d new attacks a second, %d %% of them worth a card, a click each %s, and a storm in ten accounts at once. %d cores, shared by everything. A round trip over TLS took %s ms, a `PING` of Redis %s ms.\n\n",
		first.size.Accounts, first.size.Attacks, first.size.Channels, *scaleRate, int(100*worthCards()), clickEach, runtime.NumCPU(), millis(first.httpTrip), millis(first.trip))
	b.WriteString("| |")
	for _, m := range all {
		name := map[string]string{"one": "one Redis", "cluster": "a cluster"}[m.kind]
		fmt.Fprintf(&b, " %s, replicas: %d |", name, m.replicas)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, r := range append(costRows(), timeRows()...) {
		b.WriteString("| " + r.what + " |")
		for _, m := range all {
			b.WriteString(" " + r.of(m) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// writeTable replaces the table in a document.
func writeTable(file, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the document of the scale run: %w", err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for a table between %s and %s", file, tableBegins, tableEnds)
	}
	if err := os.WriteFile(file, []byte(before+tableBegins+"\n\n"+table+"\n"+tableEnds+after), 0o644); err != nil { //nolint:gosec // a document
		return fmt.Errorf("write the document of the scale run: %w", err)
	}
	return nil
}
