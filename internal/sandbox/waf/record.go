package waf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	blockedSource = "blocked_source"
	virtualPatch  = "vpatch"
	// silence is how long an attack's last hit may be ago; a later one opens a new record.
	silence = time.Hour
	// listedSources is how many sources ip_top names.
	listedSources = 10
)

// record is an attack as the service reports it.
type record struct {
	id                            [2]string
	app                           int
	host, method, path, parameter string
	kind                          string
	first, last                   time.Time
	totals                        Totals
	sources                       []tally
	others                        map[string]bool
	days                          map[string]int64 // hits by UTC day
	vulnID                        int
	review                        string
	// met is how many hits of a denied source came, most of which aren't reported.
	met int64
	// floats: its figures come as 12.0, and that it has no vulnerability as 0, as some do with the real service.
	floats bool
}

// tally is a source's share of a record.
type tally struct {
	ip, country string
	count       int64
}

func (s *core) newRecord(a *account, spec AttackSpec, now time.Time) *record {
	return &record{
		id:  [2]string{fmt.Sprintf("attacks_x_%d_%s_v_1", a.ClientID, now.UTC().Format("200601")), recordName(s.random)},
		app: spec.App, host: spec.Host, method: spec.Method, path: spec.Path, parameter: spec.Parameter, kind: spec.Type,
		others: map[string]bool{},
		days:   map[string]int64{},
		floats: s.random.IntN(3) == 0,
	}
}

func recordName(random *rand.Rand) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	name := make([]byte, 9)
	for i := range name {
		name[i] = letters[random.IntN(len(letters))]
	}
	return string(name)
}

func (r *record) attackID() string { return r.id[0] + ":" + r.id[1] }

func (r *record) hits() int64 { return r.totals.Through + r.totals.Blocked }

// add counts n hits of a source at a time.
func (r *record) add(s *source, n int64, at time.Time) {
	if r.first.IsZero() {
		r.first = at
	}
	if at.After(r.last) { // hits added at once come before the traffic that is still to be played
		r.last = at
	}
	r.days[at.UTC().Format(time.DateOnly)] += n
	if s.other {
		r.others[s.IP] = true
		return
	}
	i := slices.IndexFunc(r.sources, func(t tally) bool { return t.ip == s.IP })
	if i < 0 {
		i = len(r.sources)
		r.sources = append(r.sources, tally{ip: s.IP, country: s.Country})
	}
	r.sources[i].count += n
}

func (r *record) blockStatus() string {
	switch {
	case r.totals.Blocked == 0:
		return "monitored"
	case r.totals.Through == 0:
		return "blocked"
	}
	return "Partially blocked"
}

// view is a record as the attack listing shows it.
func (r *record) view(clientID int) map[string]any {
	kind := kindOf(r.kind)
	ips, countries := r.top()
	return map[string]any{
		"id": r.id, "attackid": r.attackID(), "clientid": clientID,
		"domain": r.host, "poolid": r.app, "method": r.method, "parameter": orNull(r.parameter), "path": r.path, "type": r.kind,
		"first_time": r.first.Unix(), "last_time": r.last.Unix(),
		"hits": r.figure(r.hits()), "ip_count": r.figure(int64(len(r.sources) + len(r.others))),
		"ip_top": ips, "country_top": countries, "statuscodes": r.statusCodes(),
		"vulnid": r.vulnerability(), "threat": r.figure(int64(kind.threat)), "target": kind.target,
		"vectors_count": 1 + r.hits()/35, "block_status": r.blockStatus(), "state": orNull(r.review),
	}
}

// vulnerability is the id of the one that was exploited, or one of the two ways to write that there is none.
func (r *record) vulnerability() any {
	if r.vulnID == 0 && !r.floats {
		return nil
	}
	return r.vulnID
}

func orNull[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

func (r *record) figure(n int64) any {
	if r.floats {
		return json.Number(fmt.Sprintf("%d.0", n))
	}
	return n
}

func (r *record) statusCodes() []int {
	var codes []int
	if r.totals.Through > 0 {
		codes = append(codes, kindOf(r.kind).codes...)
	}
	if r.totals.Blocked > 0 {
		codes = append(codes, 403)
	}
	slices.Sort(codes)
	return codes
}

// top returns the sources and countries with most hits.
func (r *record) top() (ips, countries []map[string]any) {
	ips, countries = []map[string]any{}, []map[string]any{}
	most := func(x, y tally) int { return cmp.Compare(y.count, x.count) }
	sources := slices.SortedStableFunc(slices.Values(r.sources), most)
	for _, t := range cut(sources, 0, listedSources) {
		ips = append(ips, map[string]any{"ip": t.ip, "count": r.figure(t.count), "country": orNull(t.country)})
	}
	var byCountry []tally
	for _, t := range r.sources {
		i := slices.IndexFunc(byCountry, func(c tally) bool { return c.country == t.country })
		if i < 0 {
			byCountry = append(byCountry, t)
		} else {
			byCountry[i].count += t.count
		}
	}
	slices.SortStableFunc(byCountry, most)
	for _, t := range byCountry {
		if t.country != "" {
			countries = append(countries, map[string]any{"country": t.country, "count": r.figure(t.count)})
		}
	}
	return ips, countries
}
