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
	end, ok := courseEnd(points, until)
	if !ok {
		return ""
	}
	begin, last := points[0], points[len(points)-1]
	half, middle := begin.At+(end-begin.At)/2, float64(last.Hits)
	i, _ := slices.BinarySearchFunc(points, half, func(p record.HitPoint, at int64) int { return cmp.Compare(p.At, at) })
	if i < len(points) { // interpolated between two points
		from, to := points[i-1], points[i]
		middle = float64(from.Hits) + float64(to.Hits-from.Hits)*float64(half-from.At)/float64(to.At-from.At)
	}
	switch before, after := middle-float64(begin.Hits), float64(last.Hits)-middle; {
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

// courseEnd is the end of an attack's course, in Unix seconds; ok is false if too little is known of it.
func courseEnd(points []record.HitPoint, until time.Time) (end int64, ok bool) {
	if len(points) < leastPoints || until.IsZero() {
		return 0, false
	}
	first, last := points[0], points[len(points)-1]
	end = max(until.Unix(), last.At)
	return end, end-first.At >= int64(leastCourse/time.Second) && last.Hits > first.Hits
}

// peak is the fastest rate between two points, in hits a minute, and when it was.
func peak(points []record.HitPoint) (perMinute int64, at time.Time) {
	from := points[0]
	for _, to := range points[1:] {
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
