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
				if len(row.Hosts) == 0 { // the service may give none
					hosts.count("", at, days)
				}
				for _, host := range row.Hosts {
					hosts.count(host, at, days)
				}
			}
		}
	}
	t.Types, t.Statuses, t.Hosts = types.series(), statuses.series(), hosts.series()
	return t
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
		var figures []string
		for _, n := range t.Attacks {
			figures = append(figures, text.Number(n))
		}
		lines.Addf("`%v` %v", bars(t.Attacks), strings.Join(figures, ", "))
	}
	addSeries(&lines, "By type", t.Types, func(name string) any { return words.TypeName(text.Field(name)) })
	addSeries(&lines, "By status", t.Statuses, func(name string) any { return words.StatusWords[apiclient.Status(name)] })
	addSeries(&lines, "By host", t.Hosts, func(name string) any {
		if name == "" {
			return "unknown host"
		}
		return text.Code(text.Sanitize(name, text.MaxHost))
	})
	t.addRemarks(&lines)
	return call.Result{Account: c.Account.Name, Lines: lines, Data: t}, nil
}

// head says which days they are and what stands out.
func (t Trend) head() text.Text {
	last, most := len(t.Attacks)-1, slices.Max(t.Attacks)
	at := func(i int, format string) string { return t.First.Add(time.Duration(i) * day).Format(format) }
	line := text.New(at(last, "2 Jan (UTC)"))
	if last > 0 {
		line = text.New(at(0, "2 Jan"), " to ", line)
	}
	if t.CutAt > 0 {
		line.Add(", of the first ", text.Count(t.CutAt, "row"))
	}
	if most == 0 {
		return text.New(line, ": none")
	}
	line.Add(": ")
	if peak := slices.Index(t.Attacks, most); peak < last {
		line.Addf("most %v on %v, ", text.Number(most), at(peak, "Mon 2 Jan"))
	}
	return text.New(line, text.Number(t.Attacks[last]), " today so far")
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

// addSeries adds the series of a kind, the most frequent first.
func addSeries(lines *text.Lines, title string, all []Series, name func(string) any) {
	if len(all) > 0 {
		lines.Add(text.Bold(title))
	}
	for _, s := range all[:min(namedInTrend, len(all))] {
		lines.Addf("• `%v` %v %v", bars(s.Attacks), text.Number(s.total()), name(s.Name))
	}
	if more := len(all) - namedInTrend; more > 0 {
		lines.Addf("… and %v more", text.Number(more))
	}
}

// addRemarks says what the figures leave out.
func (t Trend) addRemarks(lines *text.Lines) {
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
	if len(known) == 0 {
		return call.Part{Title: text.Newf("*Attacks per day*: unknown just now, type `trends`")}
	}
	t := Trends(c.Now, trendDays, known...)
	p := call.Part{Title: text.Newf("*Attacks per day* `%v` %v", bars(t.Attacks), t.head())}
	if unknown := len(c.InScope) - len(known); unknown > 0 {
		p.Title.Add("; unknown just now of ", text.Count(unknown, "account"))
	}
	return p
}
