// Package advice finds what a card offers: the mitigations that fit an attack, the buttons, and why some are missing.
package advice

import (
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Advice is what would help against an attack or storm: the buttons, the fastest first, and in words why others are
// missing.
type Advice struct {
	Suggestions []call.Suggestion
	Notes       text.Lines
	Denied      text.Lines        // what must never be denied and is: it matters more than the attack
	Remedies    []call.Suggestion // the buttons that end that
}

// Advise finds the mitigations that fit an attack or storm. It is pure: the same situation gives the same advice.
func Advise(s call.Situation) Advice {
	var a Advice
	a.Denied, a.Remedies = deniedSources(s)
	switch {
	case s.Policy.ChangesNow() == config.ChangesOff:
		a.Notes.Addf("Changes are switched off (`policy.changes: off`)")
	case s.Storm != nil:
		a.denyInStorm(s)
	case s.Attack.FalsePositive():
		a.Notes.Addf("*Marked as a false positive* at the service: no mitigation is advised, and no one is called while it is")
	case s.Attack.Status() == apiclient.StatusBlocked:
		a.Notes.Addf("The WAF blocks all hits: there is nothing to add")
	case watchedOnly(s):
		a.note(text.New(text.Sanitize(s.Account.AppName(s.Attack.App), text.MaxField/2),
			" can't block: no denial, patch or mode stops anything there"))
	case allowlisted(s):
		a.Notes.Addf("All sources are on the allowlist, which wins over denials, patches and modes")
	case stoppedForAll(s):
		a.Notes.Addf("A patch or mode that is seen working covers every source")
	default:
		a.deny(s)
		a.patch(s)
		a.mode(s)
	}
	if locked := s.Context.RulesLockedAt; !locked.IsZero() &&
		slices.ContainsFunc(a.Suggestions, func(b call.Suggestion) bool { return b.Line.Name != change.Denying.Name }) {
		a.note(words.RulesLocked(locked))
	}
	return a
}

func (a *Advice) note(why text.Text) {
	if len(why) > 0 {
		a.Notes = append(a.Notes, why)
	}
}

func (a *Advice) offer(s call.Situation, b call.Suggestion) {
	if DryRun(s) {
		b.Title, b.OK, b.Danger = "Dry run: "+b.Line.Name+"?", "Show request", false
	}
	a.Suggestions = append(a.Suggestions, b)
}

// DryRun reports whether buttons only show what they would send.
func DryRun(s call.Situation) bool {
	now := s.Policy.ChangesNow()
	return now != config.ChangesOn && now != config.ChangesOff
}

// leastShare is how many percent of what gets through a source must send, for its denial to help.
const leastShare = 10

// deny offers to deny the source that sends most of what isn't stopped yet.
func (a *Advice) deny(s call.Situation) {
	open := uncovered(s)
	if len(s.Attack.Sources) == 0 {
		a.Notes.Addf("No deny: the service lists no source")
	}
	a.note(deniedAlready(s))
	for _, source := range open {
		if why := undeniable(s, source.Source); len(why) > 0 {
			a.note(why)
			continue
		}
		if percent, known := source.Share(); known && percent < leastShare {
			a.Notes.Addf("No deny: `%v`, the busiest source that isn't denied, sends %v of what gets through",
				source.String(), words.Percent(percent))
			return
		}
		if seen := s.Context.Sources[source.IP]; words.LikelyShared(seen) {
			a.note(words.Shared(grammar.RangeOf(source.Range()), seen))
		}
		a.offer(s, denyButton(s, source))
		return
	}
}

// undeniable says why a source that nothing denies isn't to be denied; nothing where it may be.
func undeniable(s call.Situation, source apiclient.Source) text.Text {
	if !source.IP.IsValid() {
		return text.New("No deny: the service lists no readable source")
	}
	address := text.Code(source.String())
	if own, ok := s.Policy.SourceOf(source); ok {
		if own.Deny == config.DenyApproval {
			return text.Newf("%v is *%v*: no quick deny", address, own.Name)
		}
		return text.Newf("%v is *%v*: wafbot never denies it", address, own.Name)
	}
	if e, where := listedEntry(s, apiclient.ListAllow, source); e != nil {
		return text.Newf("%v is on the allowlist%v%v: denying it does nothing",
			address, where, words.Author(*e))
	}
	return nil
}

// deniedAlready says whose entry denies the busiest source. It leaves out entries of wafbot's changes, which have a
// line of their own, and what the card begins with.
func deniedAlready(s call.Situation) text.Text {
	top, ok := topSource(s)
	if !ok || efficacy.Allowed(s, top) || ownInForce(s, func(ch record.Change) bool { return denies(s, ch, top) }) {
		return nil
	}
	address := text.Code(top.String())
	e, where := listedEntry(s, apiclient.ListDeny, top)
	own, named := s.Policy.SourceOf(top)
	switch {
	case e == nil, named && own.Deny != config.DenyApproval:
		return nil
	case named:
		return text.Newf("%v is *%v* and *is denied now*%v%v: `remove %v list=black` takes it off",
			address, own.Name, where, words.Author(*e), words.Sources(*e))
	}
	return text.New(address, " is denied already", where, words.Author(*e))
}

// patch offers to close the hole, if a patch fits.
func (a *Advice) patch(s call.Situation) {
	spec, not := change.PatchFor(s.Attack)
	if not.String() != "" {
		a.Notes.Addf("No patch: %v", not.String())
		return
	}
	rule, err := spec.Rule()
	if err != nil {
		a.Notes.Addf("No patch: the service can't express its path")
		return
	}
	patches := func(step record.Step) bool {
		return step.Kind == record.CreateRule && step.Rule.Type == apiclient.RulePatch
	}
	if ownInForce(s, func(ch record.Change) bool { return slices.ContainsFunc(ch.Steps, patches) }) {
		return // its own line on the card says so
	}
	same := slices.IndexFunc(s.Rules, func(r apiclient.Rule) bool { return apiclient.SameRule(r, rule) })
	wider := slices.IndexFunc(s.Rules, func(r apiclient.Rule) bool { return apiclient.CoversPatch(r, rule) })
	switch {
	case same >= 0:
		a.Notes.Addf("No patch: rule %v patches it already", s.Rules[same].ID)
	case wider >= 0:
		a.Notes.Addf("No patch: rule %v, which is wider, covers it already", s.Rules[wider].ID)
	default:
		a.offer(s, patchButton(s, spec))
	}
}

// mode offers to switch the application to block.
func (a *Advice) mode(s call.Situation) {
	app := s.Attack.App
	now := words.ModeByRules(s.Rules, int(app.N))
	switch {
	case !app.Known:
		a.Notes.Addf("No mode: the service doesn't name the application")
	case looksClean(s.Attack.Type):
		a.Notes.Addf("No mode: each request of such an attack looks clean by itself")
	case ownInForce(s, func(ch record.Change) bool { return ch.Line.Name == "mode" }): // its own line on the card says so
	case now == apiclient.ModeBlock:
		a.Notes.Addf("No mode: %v is in mode block by its rules", s.Account.AppName(app))
	default:
		a.offer(s, modeButton(s, now))
	}
}

// ownInForce reports whether such a change of wafbot's is in force against the attack, and still stands.
func ownInForce(s call.Situation, such func(record.Change) bool) bool {
	return slices.ContainsFunc(s.Changes, func(ch record.Change) bool {
		return such(ch) && ch.InForce(s.Now) && !efficacy.Gone(s, ch)
	})
}

var behavioural = []string{"brute", "credential_stuffing", "bola", "dirbust", "api_abuse", "bot"}

// looksClean reports whether the requests of an attack of that type look clean one by one, so that blocking mode stops
// none of them.
func looksClean(attackType string) bool { return slices.Contains(behavioural, attackType) }

func lineFor(s call.Situation, name string, words ...string) record.Line {
	return record.LineOf(s.Account.Name, name, words...).With("attack", s.ID)
}

// appWord is an application as the grammar writes it: a bare -1 would look like an option to a terminal.
func appWord(app apiclient.Figure) string {
	if app.N == apiclient.DefaultApp {
		return "app:default"
	}
	return fmt.Sprint(app.N)
}

// Undo is the button that undoes a change; none where it can't be undone by itself.
func Undo(ch record.Change, now time.Time) []call.Suggestion {
	if !ch.InForce(now) || ch.Parent() != "" {
		return nil
	}
	return []call.Suggestion{{
		Label: "Undo", Title: "Undo it?", Spoken: "Undo: " + ch.Does, Line: record.LineOf(ch.Account, "undo", ch.ID),
		Confirm: call.Dialog{{Text: "Undo: " + ch.Does + ". What stood there before comes back. It works " + ch.When + "."}},
	}}
}

// Acknowledge makes the clicking person the attack's owner.
func Acknowledge(s call.Situation) call.Suggestion {
	return call.Suggestion{Label: "Acknowledge", Line: lineFor(s, "ack")}
}

// Approval are the buttons that decide a request. The asker has none: it takes another person.
func Approval(q record.ApprovalRequest, who record.Actor, role record.Role) []call.Suggestion {
	if who.Is(q.Asker) || role < max(q.Role, record.Responder) {
		return nil
	}
	return Decide(q)
}

// Extend extends a change by as long as it was to hold at first.
func Extend(ch record.Change) call.Suggestion {
	length, err := grammar.ParseDuration(ch.Line.Keys["for"])
	if err != nil || length == grammar.Never {
		length = ch.Until.Sub(ch.At).Truncate(time.Minute)
	}
	length = max(length, time.Minute)
	confirm := call.Dialog{{Text: fmt.Sprintf("%s: %s longer than now.", ch.Does, text.Duration(length))}}
	if !ch.MustBeEnded() { // of entries
		confirm = append(confirm, sentence(0, words.ShortEntry(length)))
	}
	return call.Suggestion{
		Label: "Extend " + text.Duration(length), Title: "Let it hold longer?", OK: "Extend",
		Line:    record.LineOf(ch.Account, "extend", ch.ID).With("for", grammar.DurationText(length)),
		Confirm: confirm,
	}
}

// Decide are what an approver does about a request.
func Decide(q record.ApprovalRequest) []call.Suggestion {
	return []call.Suggestion{
		{
			Label: "Approve", Title: "Approve it?", Line: record.LineOf(q.Account, "approve", q.ID),
			Confirm: call.Dialog{{Text: q.Does + ". It is done at once, as asked by " + q.Asker.Name + ", and you are named as the approver."}},
		},
		{Label: "Reject", Line: record.LineOf(q.Account, "reject", q.ID)},
	}
}

// TakeOver makes the clicking person the owner of everything that goes on.
func TakeOver(account string, ongoing int) call.Suggestion {
	return call.Suggestion{
		Label: "I take over", Title: "Take over?",
		Line: record.Line{Name: "handover", Flags: []string{"all"}}.With("to", "@me").With("account", account),
		Confirm: call.Dialog{{Text: fmt.Sprintf("You are on everything that goes on on %s from now on: %s when this was written. Their owners until now are notified.",
			account, text.Count(ongoing, "attack"))}},
	}
}

// Retry is the button, beside a refused change, that asks for it again.
func Retry(t record.PermissionLoss, r record.RefusedChange) call.Suggestion {
	return call.Suggestion{
		Label: "Try now", Spoken: "Try now: " + r.Does, Title: "Try it now?", Line: r.Line.With("account", t.Account),
		Confirm: call.Dialog{{Text: r.Does + ". If the service refuses again, nothing changes."}},
	}
}
