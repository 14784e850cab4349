package poller

import (
	"slices"

	"github.com/wafbot/wafbot/internal/record"
)

// maxCourse is how many points are kept of an attack's hits.
const maxCourse = 30

// alongside adds a look at an attack to the course of its hits, which begins with none at its first hit.
func alongside(course []record.HitPoint, look Look) []record.HitPoint {
	a := look.Attack
	if !a.Hits.Known || a.Last.IsZero() {
		return course
	}
	course = slices.Clone(course)
	if len(course) == 0 && !a.First.IsZero() && a.First.Before(a.Last) {
		course = append(course, record.HitPoint{At: a.First.Unix()})
	}
	course = reach(course, record.HitPoint{At: a.Last.Unix(), Hits: a.Hits.N})
	if look.silent() {
		course = reach(course, record.HitPoint{At: look.At.Unix(), Hits: a.Hits.N}) // when it resumes, its hits aren't spread over the pause
	}
	if len(course) > maxCourse {
		course = thin(course)
	}
	return course
}

// reach adds a point. Fewer hits than before are an effect of sampling.
func reach(course []record.HitPoint, p record.HitPoint) []record.HitPoint {
	if len(course) == 0 {
		return append(course, p)
	}
	last := &course[len(course)-1]
	p.Hits = max(p.Hits, last.Hits)
	if p.At <= last.At {
		last.Hits = p.Hits
		return course
	}
	return append(course, p)
}

// thin leaves out every second point but the first and the last: what is long ago gets coarse, and stays true.
func thin(course []record.HitPoint) []record.HitPoint {
	var thinned []record.HitPoint
	for i, p := range course {
		if i%2 == 0 || i == len(course)-1 {
			thinned = append(thinned, p)
		}
	}
	return thinned
}
