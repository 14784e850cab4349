package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// listing is what the three commands that add to a list differ in.
type listing struct {
	list     string
	name     string // of the command
	verb     string // "Deny", for the beginning of a sentence
	done     string // "denied"
	duration func(Durations) time.Duration
	fallback time.Duration
}

var (
	denying  = listing{apiclient.ListDeny, "deny", "Deny", "denied", func(d Durations) time.Duration { return d.Deny }, 4 * time.Hour}
	allowing = listing{apiclient.ListAllow, "allow", "Allow", "allowed", func(d Durations) time.Duration { return d.Allow }, time.Hour}
	graying  = listing{apiclient.ListGray, "gray", "Graylist", "graylisted", func(d Durations) time.Duration { return d.Gray }, 24 * time.Hour}
)

// When entries reach the nodes.
const entryWorks = "in about 1 min"

// lasts is how long an entry holds when the line does not say.
func (l listing) lasts(p Policy) time.Duration { return cmp.Or(l.duration(p.Durations), l.fallback) }

func (l listing) args() []Arg {
	return []Arg{
		{Name: "target", Object: true, Many: true, Read: readTarget, Help: "an address, a range as 203.0.113.0/24, country:FR, proxy:TOR or datacenter:aws; left out with attack=: its top source"},
		argAttack, argFor(l.lasts), argApps, argReason,
	}
}

// plan looks at the lists and says what has to be added to them.
func (l listing) plan(c *Call) ([]Plan, error) {
	targets, err := c.targets()
	if err != nil {
		return nil, err
	}
	p, err := l.planFor(c, targets, c.Line.Keys["for"])
	return []Plan{p}, err
}

// targets are the sources that the line names, or the attack's top source.
func (c *Call) targets() ([]grammar.Target, error) {
	var targets []grammar.Target
	for _, w := range c.Line.Words {
		t, err := grammar.ParseTarget(w)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	if len(targets) > 0 {
		return targets, nil
	}
	if c.Attack == nil {
		return nil, c.Cmd.misuse(text.New("which source? Name one, or an attack whose top source it is"))
	}
	top, ok := c.Attack.topSource()
	if !ok {
		return nil, refusal.Guarded(text.New("the service lists no source for ", text.Code(c.Attack.ID), ": name one"))
	}
	return []grammar.Target{top}, nil
}

// planFor is the plan to put targets on the list for a time; "" is the configured one.
func (l listing) planFor(c *Call, targets []grammar.Target, lasts string) (Plan, error) {
	length := l.lasts(c.Policy)
	if lasts != "" {
		var err error
		if length, err = grammar.ParseDuration(lasts); err != nil {
			return Plan{}, err
		}
	}
	apps, err := c.apps()
	if err != nil {
		return Plan{}, err
	}
	needed := slices.Clone(c.needs)
	if err := l.guard(c, targets, length); err != nil {
		return Plan{}, err
	}
	entries, err := c.given().Entries(apiclient.IPRuleFilter{})
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Line: l.line(c, targets, length), When: entryWorks, Until: end(c.Now, length)}
	if l.list != apiclient.ListAllow {
		c.crowds(&p, targets)
		c.idle(&p, apps)
	}
	var sent []grammar.Target
	for _, t := range targets {
		missing, err := l.step(c, &p, wantedEntry(l.list, t, apps, p.Until), entries)
		if err != nil {
			return Plan{}, err
		}
		if missing {
			sent = append(sent, t)
		}
	}
	if len(sent) == 0 {
		sent = targets
	} else if len(p.Nothing) > 0 {
		p.Notes, p.Nothing = append(p.Notes, p.Nothing), nil
		c.needs = needed // nobody is asked about what is there already
		if err := l.guard(c, sent, length); err != nil {
			return Plan{}, err
		}
	}
	p.Does = fmt.Sprintf("%s %s %s %s", l.verb, severalTargets(sent), c.Account.appsText(apps), lasting(length))
	if l.list == apiclient.ListDeny && c.Policy.renews(sent, length) {
		p.Renews = end(c.Now, c.Policy.Renew)
	}
	return p, nil
}

// idle warns of what stops nothing where it is meant to: on these applications, or on the attack's where it is for all.
func (c *Call) idle(p *Plan, apps []int) {
	if everywhere(apps) {
		if c.Attack == nil || !c.Attack.App.Known {
			return
		}
		apps = []int{int(c.Attack.App.N)}
	}
	if !slices.ContainsFunc(apps, func(id int) bool { return !c.Account.Applications[id].CannotBlock }) {
		p.Warnings = append(p.Warnings, refusal.Warning{Text: text.New("it stops nothing ", c.Account.appsText(apps), ": what can't block (", text.Code("can_block: false"), " in the configuration) only watches")})
	}
}

// guard holds the targets and the duration against the policy.
func (l listing) guard(c *Call, targets []grammar.Target, length time.Duration) error {
	if l.list == apiclient.ListAllow {
		c.needsSecond(SecondAllow, text.New("allowing lets a source past every protection"))
	}
	for _, t := range targets {
		// Gray sources are blocked in safe_blocking mode, so the same ranges are spared there.
		if l.list != apiclient.ListAllow {
			if err := c.guardSource(t); err != nil {
				return refusal.About(err, "target", t.String())
			}
		}
		if err := c.guardWidth(t); err != nil {
			return refusal.About(err, "target", t.String())
		}
	}
	return refusal.About(c.guardDuration(length), "for", "")
}

// line is the canonical line of this one change, with everything that the asked one left to be filled in.
func (l listing) line(c *Call, targets []grammar.Target, length time.Duration) record.Line {
	line := record.Line{Name: l.name, Words: wordsOf(targets)}
	return c.complete(line.With("app", c.Line.Keys["app"]), length)
}

// wordsOf are targets as a line names them.
func wordsOf(targets []grammar.Target) []string {
	words := make([]string, len(targets))
	for i, t := range targets {
		words[i] = t.String()
	}
	slices.Sort(words)
	return words
}

// apps are the applications that the line names; all of them if it names none.
func (c *Call) apps() ([]int, error) {
	if c.Line.Keys["app"] == "" {
		return []int{apiclient.AllApps}, nil
	}
	var apps []int
	for id := range strings.SplitSeq(c.Line.Keys["app"], ",") {
		n, err := strconv.Atoi(id)
		if err != nil {
			return nil, refusal.Usage(text.New(text.Code(id), " is no application"))
		}
		apps = append(apps, n)
	}
	return apps, nil
}

// end is when something that begins now and lasts so long ends, in whole seconds as the service counts; zero for never.
func end(now time.Time, length time.Duration) time.Time {
	if length == grammar.Never {
		return time.Time{}
	}
	return now.Add(length).Truncate(time.Second).UTC()
}

// wantedEntry is the entry for one target: what stands on the lists for another one then never matters.
func wantedEntry(list string, t grammar.Target, apps []int, until time.Time) apiclient.IPRule {
	e := apiclient.IPRule{List: list, Kind: t.Kind, Subnet: t.Prefix, Apps: apps, Expires: until}
	if t.Kind != apiclient.KindRange {
		e.Values = []string{t.Value}
	}
	if until.IsZero() {
		e.Expires = apiclient.Forever
	}
	return e
}

// step adds what is needed for one entry to the plan, after a look at what stands on the lists, and reports whether anything is.
func (l listing) step(c *Call, p *Plan, want apiclient.IPRule, lists []apiclient.IPRule) (bool, error) {
	if err := l.overruled(c, p, want, lists); err != nil {
		return false, err
	}
	if e, ok := longEnough(want, lists); ok {
		p.Nothing = join(p.Nothing, text.New(names(want), " is ", l.done, " already", untilText(e.Expires), byText(e)))
		return false, nil
	}
	s := record.Step{Kind: record.AddEntry, Entry: &want}
	for _, e := range lists {
		// Only what is overwritten whole and was shorter. An entry for other applications stays beside the new one.
		if sameEntry(e, want) {
			s.Force = true
			s.Before = append(s.Before, e)
			p.Notes = append(p.Notes, text.New("Was ", l.done, untilText(e.Expires), byText(e), "; an undo brings that back"))
		}
	}
	p.Steps = append(p.Steps, s)
	return true, nil
}

// overruled refuses an entry that a stronger list makes useless: the allowlist wins over the denylist, the denylist over the graylist.
func (l listing) overruled(c *Call, p *Plan, want apiclient.IPRule, lists []apiclient.IPRule) error {
	stronger := map[string][]string{apiclient.ListDeny: {apiclient.ListAllow}, apiclient.ListGray: {apiclient.ListAllow, apiclient.ListDeny}}[l.list]
	for _, e := range lists {
		if !slices.Contains(stronger, e.List) {
			continue
		}
		if coversEntry(e, want) && holdsFor(e.Apps, want.Apps) {
			return refusal.Nothing(text.New(names(want), " is on the ", listName(e.List), untilText(e.Expires), byText(e), ", which wins: to ", strings.ToLower(l.verb),
				" it would do nothing. Nothing was sent. ", text.Code("remove "+names(e)+" list="+e.List), " takes it off"))
		}
		if overlapsEntry(e, want) && meet(e.Apps, want.Apps) {
			p.Warnings = append(p.Warnings, refusal.Warning{Text: text.New(names(e), " is on the ", listName(e.List), " ", c.Account.appsText(e.Apps), untilText(e.Expires), byText(e),
				", which wins: there it has no effect")})
		}
	}
	return nil
}

// longEnough finds an entry that holds already for at least as long and everywhere where it is wanted.
// One whose end the service does not tell counts: an entry must never be shortened.
func longEnough(want apiclient.IPRule, lists []apiclient.IPRule) (apiclient.IPRule, bool) {
	i := slices.IndexFunc(lists, func(e apiclient.IPRule) bool {
		return e.List == want.List && coversEntry(e, want) && holdsFor(e.Apps, want.Apps) && lastsAsLong(e, want)
	})
	if i < 0 {
		return apiclient.IPRule{}, false
	}
	return lists[i], true
}

// coversEntry reports whether an entry's sources include all of the other's.
func coversEntry(e, want apiclient.IPRule) bool {
	return !slices.ContainsFunc(grammar.TargetsOf(want), func(t grammar.Target) bool {
		return !slices.ContainsFunc(grammar.TargetsOf(e), func(have grammar.Target) bool { return have.Covers(t) })
	})
}

func overlapsEntry(e, want apiclient.IPRule) bool {
	return slices.ContainsFunc(grammar.TargetsOf(want), func(t grammar.Target) bool {
		return slices.ContainsFunc(grammar.TargetsOf(e), func(have grammar.Target) bool { return have.Covers(t) || t.Covers(have) })
	})
}
