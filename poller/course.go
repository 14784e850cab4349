package poller

import "slices"

// maxCourse is how many points are kept of an attack's hits.
const maxCourse = 30

// Point is how many hits an attack had by a moment, as it was told.
type Point struct {
	At   int64 `json:"t"` // Unix seconds, on the service's clock: of its last hit
	Hits int64 `json:"h"` // since it began
}

// alongside adds a look at an attack to the course of its hits, which begins with none at its first hit.
func alongside(course []Point, look Look) []Point {
	a := look.Attack
	if !a.Hits.Known || a.Last.IsZero() {
		return course
	}
	course = slices.Clone(course)
	if len(course) == 0 && !a.First.IsZero() && a.First.Before(a.Last) {
		course = append(course, Point{At: a.First.Unix()})
	}
	course = reach(course, Point{At: a.Last.Unix(), Hits: a.Hits.N})
	if look.silent() {
		course = reach(course, Point{At: look.At.Unix(), Hits: a.Hits.N}) // when it resumes, its hits aren't spread over the pause
	}
	if len(course) > maxCourse {
		course = thin(course)
	}
	return course
}

// reach adds a point. Fewer hits than before are an effect of sampling.
func reach(course []Point, p Point) []Point {
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
func thin(course []Point) []Point {
	var thinned []Point
	for i, p := range course {
		if i%2 == 0 || i == len(course)-1 {
			thinned = append(thinned, p)
		}
	}
	return thinned
}
