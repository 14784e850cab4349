package card

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

const (
	courseColumns = 16
	leastPoints   = 3           // fewer give one rate, which the figures show already
	leastCourse   = time.Minute // a shorter course gives one rate, too
	leastSpan     = 10          // seconds over which a rate is computed: the service's times are whole seconds
	mostRate      = 1e12        // hits a minute: the service's figures are not trusted
	maxMarks      = 4
)

// levels are a column's heights. The first means no hits.
var levels = []rune("▁▂▃▄▅▆▇")

// course shows an attack's hits over time and when mitigations began and ended: first in words, then as a line of columns, because a screen reader
// reads columns one by one. It is nil if too little is known.
func (c Card) course() []text.Text {
	line, ok := newTimeline(c.Course, courseEnd(c))
	if !ok {
		return nil
	}
	words := rates(c, line)
	marks := marks(c, line)
	words = text.New(words, ": ", line.columns(marks))
	joined := together(marks)
	for i, m := range joined[max(0, len(joined)-maxMarks):] {
		between := ", "
		if i == 0 {
			between = " "
		}
		words = text.New(words, between, m.sign, " ", m.what, " ", c.clock(m.at))
	}
	return []text.Text{words}
}

// rates are the peak and the rate of the last minute, if known.
func rates(c Card, line timeline) text.Text {
	peak, at := line.peak()
	words := text.New("Peak about ", about(peak), " a minute at ", c.clock(at))
	if c.Quiet || !c.Outage.From.IsZero() {
		return words
	}
	now := int64(min(line.by(line.end)-line.by(line.end-60), mostRate))
	switch {
	case now >= peak-peak/10:
		return text.New("About ", about(now), " a minute now, at its peak")
	case now == 0:
		return text.New(words, ", none in the last minute")
	}
	return text.New(words, ", now about ", about(now))
}

// courseEnd is until when the course is known: there were no hits between the last hit and the figures.
func courseEnd(c Card) time.Time {
	if c.Quiet {
		return c.Situation.Attack.Last
	}
	return c.FiguresAt
}

// about rounds a rate to the precision of sampled figures.
func about(n int64) apiclient.Figure {
	step := int64(1)
	for n/step >= 100 {
		step *= 10
	}
	return apiclient.Known((n + step/2) / step * step)
}

// mark is when a mitigation began or ended.
type mark struct {
	at   time.Time
	sign string
	what string
}

// marks are those of the mitigations within the course, the oldest first.
func marks(c Card, line timeline) []mark {
	var all []mark
	for _, ch := range c.Situation.Changes {
		tookEffect := slices.Contains([]record.State{record.StateDone, record.StateHalf, record.StateUndone}, ch.State)
		if !tookEffect || ch.Undoes != "" {
			continue
		}
		all = append(all, mark{ch.At, "▼", ch.Line.Name})
		if over := cmp.Or(ch.EndedAt, ch.Until); !over.IsZero() && !over.After(c.Situation.Now) {
			all = append(all, mark{over, "▲", ch.Line.Name + " ended"})
		}
	}
	all = slices.DeleteFunc(all, func(m mark) bool { return m.at.Unix() < line.begin() || m.at.Unix() > line.end })
	slices.SortStableFunc(all, func(x, y mark) int { return x.at.Compare(y.at) })
	return all
}

// together joins marks of the same minute.
func together(marks []mark) (joined []mark) {
	for _, m := range marks {
		if n := len(joined); n > 0 && joined[n-1].sign == m.sign && m.at.Sub(joined[n-1].at) < time.Minute {
			joined[n-1].what += " + " + m.what
			continue
		}
		joined = append(joined, m)
	}
	return joined
}

// timeline is the course of an attack's hits up to an end, in Unix seconds.
type timeline struct {
	points []record.HitPoint
	end    int64
}

func newTimeline(points []record.HitPoint, until time.Time) (t timeline, ok bool) {
	if len(points) < leastPoints || until.IsZero() {
		return t, false
	}
	t = timeline{points, max(until.Unix(), points[len(points)-1].At)}
	if t.end-t.begin() < int64(leastCourse/time.Second) || points[len(points)-1].Hits <= points[0].Hits {
		return t, false
	}
	return t, true
}

func (t timeline) begin() int64 { return t.points[0].At }

// by is how many hits there were by a moment, interpolated between two points.
func (t timeline) by(at int64) float64 {
	i, exact := slices.BinarySearchFunc(t.points, at, func(p record.HitPoint, at int64) int { return cmp.Compare(p.At, at) })
	switch {
	case i == len(t.points):
		return float64(t.points[i-1].Hits)
	case exact || i == 0:
		return float64(t.points[i].Hits)
	}
	from, to := t.points[i-1], t.points[i]
	return float64(from.Hits) + float64(to.Hits-from.Hits)*float64(at-from.At)/float64(to.At-from.At)
}

// peak is the fastest rate between two points, in hits a minute, and when it was.
func (t timeline) peak() (perMinute int64, at time.Time) {
	from := t.points[0]
	for _, to := range t.points[1:] {
		span := to.At - from.At
		if span < leastSpan {
			continue
		}
		if rate := int64(min(float64(to.Hits-from.Hits)*60/float64(span), mostRate)); rate > perMinute {
			perMinute, at = rate, time.Unix(to.At, 0)
		}
		from = to
	}
	return perMinute, at
}

// columns draws the course, each mark before the column in which it falls.
func (t timeline) columns(marks []mark) string {
	edge := func(i int) int64 { return t.begin() + (t.end-t.begin())*int64(i)/courseColumns }
	var hits [courseColumns]float64
	for i := range hits {
		hits[i] = t.by(edge(i+1)) - t.by(edge(i))
	}
	most := slices.Max(hits[:])
	var out strings.Builder
	for i, n := range hits {
		last := ""
		for len(marks) > 0 && (i == courseColumns-1 || marks[0].at.Unix() < max(edge(i+1), edge(i)+1)) {
			if marks[0].sign != last {
				last = marks[0].sign
				out.WriteString(last)
			}
			marks = marks[1:]
		}
		level := 0
		if n > 0 {
			level = max(1, int(math.Round(n/most*float64(len(levels)-1))))
		}
		out.WriteRune(levels[level])
	}
	return out.String()
}
