package compare

import (
	"slices"

	"github.com/wafbot/wafbot/internal/record"
)

// maxHistory is how many points are kept of an attack's hits.
const maxHistory = 30

// history adds an observation to the history of an attack's hits, which begins with none at its first hit.
func history(points []record.HitPoint, o Observation) []record.HitPoint {
	a := o.Attack
	if !a.Hits.Known || a.Last.IsZero() {
		return points
	}
	points = slices.Clone(points)
	if len(points) == 0 && !a.First.IsZero() && a.First.Before(a.Last) {
		points = append(points, record.HitPoint{At: a.First.Unix()})
	}
	points = extend(points, record.HitPoint{At: a.Last.Unix(), Hits: a.Hits.N})
	if o.Silent() {
		points = extend(points, record.HitPoint{At: o.At.Unix(), Hits: a.Hits.N}) // when it resumes, its hits aren't spread over the pause
	}
	if len(points) > maxHistory {
		points = thin(points)
	}
	return points
}

// extend adds a point. Fewer hits than before are an effect of sampling.
func extend(points []record.HitPoint, p record.HitPoint) []record.HitPoint {
	if len(points) == 0 {
		return append(points, p)
	}
	last := &points[len(points)-1]
	p.Hits = max(p.Hits, last.Hits)
	if p.At <= last.At {
		last.Hits = p.Hits
		return points
	}
	return append(points, p)
}

// thin leaves out every second point but the first and the last: older hits get coarser, and stay true.
func thin(points []record.HitPoint) []record.HitPoint {
	var thinned []record.HitPoint
	for i, p := range points {
		if i%2 == 0 || i == len(points)-1 {
			thinned = append(thinned, p)
		}
	}
	return thinned
}
