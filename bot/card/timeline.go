package card

import (
	"cmp"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	leastPoints = 3           // fewer give one rate, which the figures show already
	leastCourse = time.Minute // a shorter course gives one rate, too
	leastSpan   = 10          // seconds over which a rate is computed: the service's times are whole seconds
	mostRate    = 1e12        // hits a minute: the service's figures are not trusted
)

// trend says whether more hits came in the later half of an attack's course than in the earlier; "" if too little is known.
func trend(points []record.HitPoint, until time.Time) string {
	t, ok := newTimeline(points, until)
	if !ok {
		return ""
	}
	half := t.begin() + (t.end-t.begin())/2
	before, after := t.by(half)-t.by(t.begin()), t.by(t.end)-t.by(half)
	switch {
	case after > 1.5*before:
		return "rising"
	case 1.5*after < before:
		return "falling"
	}
	return "steady"
}

// about rounds a rate to the precision of sampled figures.
func about(n int64) apiclient.Figure {
	step := int64(1)
	for n/step >= 100 {
		step *= 10
	}
	return apiclient.Known((n + step/2) / step * step)
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
