package change

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Listing is what the three commands that add to a list differ in.
type Listing struct {
	list  string
	Name  string                            // of the command
	verb  string                            // "Deny", for the beginning of a sentence
	done  string                            // "denied"
	Lasts func(policy.Policy) time.Duration // of an entry when the line does not say
}

// The three lists.
var (
	Denying  = Listing{apiclient.ListDeny, "deny", "Deny", "denied", policy.Policy.DenyFor}
	Allowing = Listing{apiclient.ListAllow, "allow", "Allow", "allowed", policy.Policy.AllowFor}
	Graying  = Listing{apiclient.ListGray, "gray", "Graylist", "graylisted", policy.Policy.GrayFor}
)

// Plan reads the lists and says what has to be added to them.
func (l Listing) Plan(c *call.Call) ([]call.Plan, error) {
	targets, err := Targets(c)
	if err != nil {
		return nil, err
	}
	p, err := l.PlanFor(c, targets, c.Line.Keys["for"])
	return []call.Plan{p}, err
}

// Targets are the sources that the line names, or the attack's top source.
func Targets(c *call.Call) (targets []grammar.Target, err error) {
	for _, w := range c.Line.Words {
		t, failed := grammar.ParseTarget(w)
		targets, err = append(targets, t), cmp.Or(err, failed)
	}
	if len(targets) > 0 {
		return targets, err
	}
	if c.Attack == nil {
		return nil, c.Cmd.Misuse("Missing: a source, or an attack whose top source it is")
	}
	top, ok := call.TopTarget(c.Attack)
	if !ok {
		return nil, refusal.Guarded("the service lists no source for `%v`: name one", c.Attack.ID)
	}
	return []grammar.Target{top}, nil
}

// PlanFor is the plan to put targets on the list for a time; "" is the configured one.
func (l Listing) PlanFor(c *call.Call, targets []grammar.Target, lasts string) (p call.Plan, err error) {
	length, err := lengthTyped(lasts, l.Lasts(c.Policy))
	if err != nil {
		return p, err
	}
	apps, err := apps(c)
	if err != nil {
		return p, err
	}
	needed := slices.Clone(c.Needs)
	if err := l.guard(c, targets, length); err != nil {
		return p, err
	}
	entries, err := c.Facts.Entries.Get()
	if err != nil {
		return p, err
	}
	p = ForTime(c, record.Line{Name: l.Name, Words: wordsOf(targets)}.With("app", c.Line.Keys["app"]), "", length)
	p.When = words.EntryWorks
	warnShort(c, &p, length)
	if l.list != apiclient.ListAllow {
		warnShared(c, &p, targets)
		WarnCannotBlock(c, &p, apps)
	}
	var sent []grammar.Target
	for _, t := range targets {
		missing, err := l.step(c, &p, wantedEntry(l.list, t, apps, p.Until), entries)
		if err != nil {
			return p, err
		}
		if missing {
			sent = append(sent, t)
		}
	}
	p.Steps = batched(p.Steps, entries)
	if len(sent) == 0 {
		sent = targets
	} else if len(p.Nothing) > 0 {
		p.Notes, p.Nothing = append(p.Notes, p.Nothing), nil
		c.Needs = needed // what is there already needs no approval
		if err := l.guard(c, sent, length); err != nil {
			return p, err
		}
	}
	p.Does = fmt.Sprintf("%s %s %s %s", l.verb, words.Targets(sent), call.AppsText(c.Account, apps),
		policy.Lasting(length))
	if l.list == apiclient.ListDeny && c.Policy.Renews(sent, length) {
		p.Renews = End(c.Now, c.Policy.RenewWhileActive)
	}
	return p, nil
}

// warnShort says that an entry may hold longer than it is to: it asks where the person said how long, and notes it
// where the configuration does.
func warnShort(c *call.Call, p *call.Plan, length time.Duration) {
	words := words.ShortEntry(length)
	switch {
	case words == "":
	case c.Invocation.Line.Keys["for"] == "": // not the call's line: a plan that is made again may have completed it
		p.Notes.Add(words)
	default:
		p.Warnings = append(p.Warnings, refusal.Warning{
			Text: text.Newf("%v. `for=%v` is the shortest that is certain",
				words, grammar.DurationText(apiclient.ShortestEntry)), InDialog: true, Always: true,
		})
	}
}

// WarnCannotBlock warns if nothing would be stopped on these applications, or on the attack's if it is for all.
func WarnCannotBlock(c *call.Call, p *call.Plan, apps []int) {
	if call.Everywhere(apps) {
		if c.Attack == nil || !c.Attack.App.Known {
			return
		}
		apps = []int{int(c.Attack.App.N)}
	}
	if !slices.ContainsFunc(apps, func(id int) bool { return !c.Account.Applications[id].CannotBlock() }) {
		p.Warnings.Addf("it stops nothing %v: what can't block (`can_block: false` in the configuration) only watches",
			call.AppsText(c.Account, apps))
	}
}

// guard holds the targets and the duration against the policy.
func (l Listing) guard(c *call.Call, targets []grammar.Target, length time.Duration) error {
	if l.list == apiclient.ListAllow {
		approval.Need(c, config.ApproveAllow, text.New("allowing lets a source past every protection"))
	}
	for _, t := range targets {
		// Gray sources are blocked in safe_blocking mode, so the same ranges are left out there.
		var err error
		if l.list != apiclient.ListAllow {
			err = approval.GuardSource(c, t)
		}
		if err = cmp.Or(err, approval.GuardWidth(c, t)); err != nil {
			return refusal.About(err, "target", t.String())
		}
	}
	return refusal.About(approval.GuardDuration(c, length), "for", "")
}

// wordsOf are targets as a line names them.
func wordsOf(targets []grammar.Target) (words []string) {
	for _, t := range targets {
		words = append(words, t.String())
	}
	slices.Sort(words)
	return words
}

// apps are the applications that the line names; all of them if it names none.
func apps(c *call.Call) ([]int, error) {
	if c.Line.Keys["app"] == "" {
		return []int{apiclient.AllApps}, nil
	}
	var apps []int
	for id := range strings.SplitSeq(c.Line.Keys["app"], ",") {
		n, err := strconv.Atoi(id)
		if err != nil {
			return nil, refusal.Usage("`%v` is no application", id)
		}
		apps = append(apps, n)
	}
	return apps, nil
}

// wantedEntry is the entry for one target: what stands on the lists for another one then never matters.
func wantedEntry(list string, t grammar.Target, apps []int, until time.Time) apiclient.IPRule {
	e := apiclient.IPRule{List: list, Kind: t.Kind, Subnet: t.Prefix, Apps: apps, Expires: endOfEntry(until)}
	if t.Kind != apiclient.KindRange {
		e.Values = []string{t.Value}
	}
	return e
}

// endOfEntry is an end as the service takes it; of none the latest there is.
func endOfEntry(until time.Time) time.Time {
	if until.IsZero() {
		return apiclient.Forever
	}
	return until
}

// addNothing adds a reason why there is nothing to do.
func addNothing(p *call.Plan, why ...any) {
	p.Nothing = text.Join([]text.Text{p.Nothing, text.New(why...)}, "; ")
}

// step adds what is needed for one entry to the plan, after reading what stands on the lists, and reports whether
// anything is.
func (l Listing) step(c *call.Call, p *call.Plan, want apiclient.IPRule, lists []apiclient.IPRule) (bool, error) {
	if err := l.overruled(c, p, want, lists); err != nil {
		return false, err
	}
	if e, ok := efficacy.LongEnough(want, lists); ok {
		addNothing(p, words.Sources(want), " is ", l.done, " already", words.Until(e.Expires), words.Author(e))
		return false, nil
	}
	s := record.Step{Kind: record.AddEntry, Entry: &want}
	for _, e := range lists {
		// Only what is overwritten whole and was shorter. An entry for other applications stays beside the new one.
		if efficacy.SameEntry(e, want) || inOwnBatch(e, want) {
			e.Values, s.Force = want.Values, true
			s.Before = append(s.Before, e)
			p.Notes.Addf("Was %v%v%v; an undo brings that back", l.done, words.Until(e.Expires), words.Author(e))
		}
	}
	p.Steps = append(p.Steps, s)
	return true, nil
}

// overruled refuses an entry that a stronger list makes useless: the allowlist wins over the denylist, the denylist
// over the graylist.
func (l Listing) overruled(c *call.Call, p *call.Plan, want apiclient.IPRule, lists []apiclient.IPRule) error {
	stronger := map[string][]string{apiclient.ListDeny: {apiclient.ListAllow},
		apiclient.ListGray: {apiclient.ListAllow, apiclient.ListDeny}}[l.list]
	for _, e := range lists {
		if !slices.Contains(stronger, e.List) {
			continue
		}
		if efficacy.Covers(e, want) && call.HoldsFor(e.Apps, want.Apps) {
			return refusal.Nothing("%v is on the %v%v%v, which wins: to %v it would do nothing. `remove %v list=%v` takes "+
				"it off", words.Sources(want), words.ListName(e.List), words.Until(e.Expires), words.Author(e),
				strings.ToLower(l.verb), words.Sources(e), e.List)
		}
		if efficacy.Overlaps(e, want) && call.Overlap(e.Apps, want.Apps) {
			p.Warnings.Addf("%v is on the %v %v%v%v, which wins: there it has no effect", words.Sources(e),
				words.ListName(e.List), call.AppsText(c.Account, e.Apps), words.Until(e.Expires), words.Author(e))
		}
	}
	return nil
}

// warnShared warns of targets that the configuration names or that many people likely share, and of broad ones, where
// wafbot can't know. If approval is needed, its request says so instead. For a narrow range a note says so afterwards.
func warnShared(c *call.Call, p *call.Plan, targets []grammar.Target) {
	second := c.Policy.Approval.RequiredFor
	for _, t := range targets {
		for _, s := range c.PolicyNow().Named() {
			if what := policy.HitBy(s, t); what != nil && !slices.Contains(second, config.ApproveSource) {
				p.Warnings.Addf("%v", what)
			}
		}
		unseen := text.Newf("%v: it can't know whom else `%v` hits", policy.NeverVisitors, t.String())
		switch broad := t.Kind != apiclient.KindRange || c.Policy.Wide(t); {
		case broad && !slices.Contains(second, config.ApproveBroad):
			p.Warnings.Addf("%v", unseen)
		case !broad && !t.Prefix.IsSingleIP():
			p.Notes = append(p.Notes, unseen)
		}
		if at, seen, ok := words.BusiestShared(c.Context, t); ok {
			p.Warnings = append(p.Warnings, refusal.Warning{Text: words.Shared(at, seen), Known: c.Line.Has(call.FlagShared)})
		}
	}
}

// FormWarnings are what the form of the call's command should say of its attack before anything is chosen.
func FormWarnings(c *call.Call) (all text.Lines) {
	if top, ok := call.TopTarget(c.Attack); ok && slices.Contains(c.Cmd.Flags, call.FlagShared) {
		if at, seen, shared := words.BusiestShared(c.Context, top); shared {
			all.Add(words.Shared(at, seen))
		}
	}
	if !c.Context.RulesLockedAt.IsZero() && slices.Contains(c.Cmd.Flags, call.FlagLocked) {
		all.Add(words.RulesLocked(c.Context.RulesLockedAt))
	}
	return all
}

// LockedWarnings warns a person who clicked on a button, whose dialog doesn't say so yet, that the service may refuse
// to change rules. A typed line isn't asked about: nothing worse can come of it than that answer.
func LockedWarnings(c *call.Call) refusal.Warnings {
	if c.Context.RulesLockedAt.IsZero() || !c.Warned || c.Line.Has(call.FlagLocked) {
		return nil
	}
	return refusal.Warnings{{Text: words.RulesLocked(c.Context.RulesLockedAt)}}
}
