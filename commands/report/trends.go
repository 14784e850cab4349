package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/text"
)

const day = 24 * time.Hour

// LongestTrend is how far back the service's aggregation reaches.
const LongestTrend = apiclient.LongestAggregation * time.Hour

// namedInTrend is how many types and hosts are shown.
const namedInTrend = 5

// Trend counts attacks by day. The days are those of UTC, as the service counts them; the last one is today, so far.
type Trend struct {
	First    time.Time `json:"first_day"`
	Attacks  []int     `json:"attacks"` // of each day
	Types    []Series  `json:"types"`   // the most frequent first, as are the others
	Statuses []Series  `json:"statuses"`
	Hosts    []Series  `json:"hosts"`
	CutAt    int       `json:"cut_at,omitempty"`  // rows of the service; it has more, which weren't read. 0: all were
	Results  int       `json:"results,omitempty"` // of denied sources and patches at work, which aren't counted
	Undated  int       `json:"undated,omitempty"` // whose day isn't known, which aren't counted
}

// Series is how many attacks of one kind there were on each day.
type Series struct {
	Name    string `json:"name"` // as the service writes it; "": it doesn't say
	Attacks []int  `json:"attacks"`
}

func (s Series) total() (n int) {
	for _, attacks := range s.Attacks {
		n += attacks
	}
	return n
}

// Trends counts the attacks of an account, or of several, on so many days.
func Trends(now time.Time, days int, accounts ...apiclient.AttackDays) Trend {
	t := Trend{First: firstDay(now, days), Attacks: make([]int, days)}
	types, statuses, hosts := tallies{}, tallies{}, tallies{}
	for _, read := range accounts {
		if read.More {
			t.CutAt += len(read.Rows)
		}
		for _, row := range read.Rows {
			at := int(row.Day.Sub(t.First) / day)
			switch {
			case apiclient.IsResult(row.Type):
				t.Results++
			case row.Day.IsZero():
				t.Undated++
			case row.Day.Before(t.First) || at >= days: // the query reaches back in whole hours
			default:
				t.Attacks[at]++
				types.count(row.Type, at, days)
				statuses.count(string(row.Status), at, days)
				for _, host := range named(row.Hosts) {
					hosts.count(host, at, days)
				}
			}
		}
	}
	t.Types, t.Statuses, t.Hosts = types.series(), statuses.series(), hosts.series()
	return t
}

// named are the hosts of an attack. The service may give none.
func named(hosts []string) []string {
	if len(hosts) == 0 {
		return []string{""}
	}
	return hosts
}

func firstDay(now time.Time, days int) time.Time {
	return now.UTC().Truncate(day).Add(-time.Duration(days-1) * day)
}

// hoursOf is how many hours the days reach back, one at least: at midnight a day has none yet.
func hoursOf(now time.Time, days int) int {
	return max(1, int((now.Sub(firstDay(now, days))+time.Hour-1)/time.Hour))
}

// tallies are attacks by name and day.
type tallies map[string][]int

func (t tallies) count(name string, at, days int) {
	if t[name] == nil {
		t[name] = make([]int, days)
	}
	t[name][at]++
}

func (t tallies) series() []Series {
	all := []Series{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		all = append(all, Series{name, t[name]})
	}
	slices.SortStableFunc(all, func(x, y Series) int { return cmp.Compare(y.total(), x.total()) })
	return all
}

// daysOf is how many days hold the time that a line looks back, today among them.
func daysOf(c *call.Call) (int, error) {
	back, err := grammar.ParseDuration(cmp.Or(c.Line.Keys["since"], "7d"))
	return int((back + day - 1) / day), err
}

// TrendNeeds are those of ShowTrends.
func TrendNeeds(c *call.Call) call.Needs {
	days, err := daysOf(c)
	if err != nil {
		return call.Needs{}
	}
	return call.Needs{AttackDays: call.AttackDays{Hours: hoursOf(c.Now, days)}}
}

// ShowTrends answers with the trend of an account's last days.
func ShowTrends(c *call.Call) (res call.Result, err error) {
	days, err := daysOf(c)
	if err != nil {
		return res, err
	}
	read, err := c.Facts.AttackDays.Get()
	if err != nil {
		return res, refusal.FromService(err)
	}
	t := Trends(c.Now, days, read)
	lines := text.Lines{text.Newf("*%v: attacks per day*, %v", c.Account.Name, t.head())}
	if len(t.Types) > 0 {
		lines = append(lines, t.chart())
	}
	for _, by := range []struct {
		title string
		all   []Series
		name  func(string) text.Text
	}{{"By type", t.Types, typeInTrend}, {"By status", t.Statuses, statusInTrend}, {"By host", t.Hosts, hostInTrend}} {
		lines = append(lines, seriesLines(by.title, by.all, by.name)...)
	}
	return call.Result{Account: c.Account.Name, Lines: append(lines, t.remarks()...), Data: t}, nil
}

// head says which days they are and what stands out.
func (t Trend) head() text.Text {
	last := t.First.Add(time.Duration(len(t.Attacks)-1) * day)
	span := last.Format("2 Jan") + " (UTC)"
	if len(t.Attacks) > 1 {
		span = t.First.Format("2 Jan") + " to " + span
	}
	if t.CutAt > 0 {
		span += ", of the first " + text.Count(t.CutAt, "row")
	}
	span += ": "
	most := slices.Max(t.Attacks)
	if most == 0 {
		return text.New(span, "none")
	}
	peak := t.First.Add(time.Duration(slices.Index(t.Attacks, most)) * day)
	today := text.New(text.Number(t.Attacks[len(t.Attacks)-1]), " today so far")
	if peak.Equal(last) {
		return text.New(span, today)
	}
	return text.Newf("%vmost %v on %v, %v", span, text.Number(most), peak.Format("Mon 2 Jan"), today)
}

// chart is the attacks of each day as bars and as figures.
func (t Trend) chart() text.Text {
	var figures []string
	for _, n := range t.Attacks {
		figures = append(figures, text.Number(n))
	}
	return text.Newf("`%v` %v", bars(t.Attacks), strings.Join(figures, ", "))
}

// bars draws figures as blocks of up to eight heights. The lowest is none.
func bars(figures []int) string {
	heights := []rune("▁▂▃▄▅▆▇█")
	most := max(1, slices.Max(figures))
	var b strings.Builder
	for _, n := range figures {
		b.WriteRune(heights[(n*(len(heights)-1)+most-1)/most])
	}
	return b.String()
}

func seriesLines(title string, all []Series, name func(string) text.Text) (lines text.Lines) {
	if len(all) == 0 {
		return nil
	}
	lines = append(lines, text.Lead(title))
	for _, s := range all[:min(namedInTrend, len(all))] {
		lines.Addf("• `%v` %v %v", bars(s.Attacks), text.Number(s.total()), name(s.Name))
	}
	if more := len(all) - namedInTrend; more > 0 {
		lines.Addf("… and %v more", text.Number(more))
	}
	return lines
}

func typeInTrend(name string) text.Text {
	return text.New(words.TypeName(text.Field(name)))
}

func statusInTrend(name string) text.Text {
	return text.New(words.StatusWords[apiclient.Status(name)])
}

func hostInTrend(name string) text.Text {
	if name == "" {
		return text.New("unknown host")
	}
	return text.Newf("`%v`", text.Sanitize(name, text.MaxHost))
}

// remarks say what the figures leave out.
func (t Trend) remarks() (lines text.Lines) {
	if len(t.Attacks) > 1 && len(t.Types) > 0 {
		lines.Add("An attack that goes on after midnight counts on each of its days")
	}
	if t.Results > 0 {
		lines.Addf("Not counted: %v of denied sources and patches at work", text.Count(t.Results, "record"))
	}
	if t.Undated > 0 {
		lines.Addf("Not counted: %v of which the service doesn't say the day", text.Count(t.Undated, "row"))
	}
	if t.CutAt > 0 {
		lines.Addf("The service has more rows than wafbot reads at once: `trends since=1d` asks for the fewest")
	}
	return lines
}

// trendDays are those of trendPart.
const trendDays = int(LongestTrend / day)

// trendPart is the trend of the call's accounts together, in a line. It is left out with a word where the service
// doesn't give it soon.
func trendPart(c *call.Call) call.Part {
	var known []apiclient.AttackDays
	for _, a := range c.InScope {
		read, err := c.FactsOf(a.Name).AttackDays.Get()
		if err == nil && !read.More {
			known = append(known, read)
		}
	}
	title := text.Bold("Attacks per day")
	if len(known) == 0 {
		return call.Part{Title: text.Newf("%v: unknown just now, type `trends`", title)}
	}
	t := Trends(c.Now, trendDays, known...)
	line := text.Newf("%v `%v` %v", title, bars(t.Attacks), t.head())
	if unknown := len(c.InScope) - len(known); unknown > 0 {
		line.Add("; unknown just now of ", text.Count(unknown, "account"))
	}
	return call.Part{Title: line}
}
