package verb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func handoverNeeds(c *call.Call) (n call.Needs) {
	if to := handedTo(c); !to.Is(c.Actor) {
		n.Rights = to
	}
	if c.Line.Has("all") {
		n.Attacks, n.Storms, n.InStorms, n.Triages = apiclient.AttackFilter{From: report.OngoingFrom(c)}, true, true, true
	} else {
		n.Triage = c.AttackID()
	}
	return n
}

func writeHandover(c *call.Call) (res call.Result, err error) {
	switch {
	case c.Line.Has("all"):
		if c.Attack != nil && !c.Implied {
			return res, c.Cmd.Misuse("Either `attack=` or `--all`, not both")
		}
		c.DropAttack()
		return writeTakeOver(c)
	case c.Attack == nil:
		return res, c.Cmd.Misuse("Missing: `attack=`, the attack's id, as on its card, or `--all`")
	}
	to, err := assignee(c)
	if err != nil {
		return res, err
	}
	return onTriage(func(c *call.Call, t *record.Triage) (call.Result, error) { return handOne(c, t, to) })(c)
}

// handOne hands the call's attack to a user.
func handOne(c *call.Call, t *record.Triage, to record.Actor) (call.Result, error) {
	before := t.Owner
	again := before != nil && before.Is(to)
	if again && len(c.Line.Words) == 0 {
		return unchanged(*t, text.New(words.Owner(before), " already")), nil
	}
	if err := assign(c, t, to); err != nil {
		return call.Result{}, err
	}
	if again {
		t.Owner.Since, t.Owner.From, t.Owner.FromName = before.Since, before.From, before.FromName
	}
	how := text.New(", handed over by ", c.Actor.Name)
	if to.Is(c.Actor) {
		how = text.New(", taken over")
	}
	res := saved(*t, text.New(words.Owner(t.Owner), how, ". The thread of the attack's card says so"))
	res.Saves.Events = []record.Event{handoverEvent(c, "handover ", record.HandedOver, c.Attack.Attack.ID, to.ID)}
	return res, nil
}

// assign makes a user the owner of an attack, with the line's note for that user.
func assign(c *call.Call, t *record.Triage, to record.Actor) (err error) {
	before := t.Owner
	t.Owner = owner(c, to)
	if before != nil {
		t.Owner.From, t.Owner.FromName = before.ID, before.Name
	}
	if len(c.Line.Words) > 0 {
		t.Owner.Note, err = addNote(c, t, c.Line.Words[0])
	}
	return err
}

// handedTo is the user whom a line names.
func handedTo(c *call.Call) record.Actor {
	if to := c.Line.Keys["to"]; to != call.Me {
		return record.Actor{ID: to, Team: c.Actor.Team}
	}
	return c.Actor
}

// assignee is the user to whom a line hands an attack over: a full member who may act.
func assignee(c *call.Call) (to record.Actor, err error) {
	to = handedTo(c)
	if to.Is(c.Actor) {
		return c.Actor, nil
	}
	s := c.Facts.Rights.Value
	to.Team, to.Name = cmp.Or(s.Who.Team, to.Team), cmp.Or(s.Who.Name, to.ID)
	user := text.New(text.User(to.ID))
	if s.Who.Name != "" { // the audit log and the terminal show an id as it is
		user = text.Lead(text.Field(s.Who.Name))
	}
	needs := text.Newf(". Who is on an attack needs the role *%v*", record.Responder.String())
	switch {
	case s.Unsure:
		return to, refusal.Guarded("Slack doesn't say just now who %v is. Try again in a moment",
			text.User(to.ID))
	case s.Role < record.Responder && s.Could >= record.Responder:
		return to, refusal.Guarded("Slack doesn't say just now whether %v is in a user group that has a "+
			"role. Try again in a moment", user)
	case s.Role == record.NoRole:
		return to, refusal.Guarded("%v has no role here, or is no full member of the workspace%v", user, needs)
	case s.Role < record.Responder:
		return to, refusal.Guarded("%v has the role %v%v%v", user, s.Role.String(), approval.ByGroup(s.Group),
			needs)
	}
	return to, nil
}

// writeTakeOver hands every attack that goes on to one user. It is one write, and there is one answer.
func writeTakeOver(c *call.Call) (res call.Result, err error) {
	to, toErr := assignee(c)
	ongoing, ongoingErr := ongoingNow(c)
	triages, err := c.Facts.Triages.Get()
	if err != nil {
		err = refusal.Away(err)
	}
	if err := cmp.Or(toErr, ongoingErr, err); err != nil {
		return res, err
	}
	since := record.Earlier(c.Asked, c.Now)
	var taken []string
	before, names := map[string]int{}, map[string]text.Text{} // of the owners before: on how many attacks, by their ids
	changed := map[string]record.Triage{}                     // all are checked before one is saved: a refusal changes none of them
	for _, attack := range ongoing {
		id := record.AttackID(c.Account.Name, attack.ID)
		t := triages[id]
		if t.Owner == nil || !t.Owner.Is(to) {
			if err := assign(c, &t, to); err != nil {
				return res, err
			}
			changed[id] = t
		} else if t.Owner.Since.Before(since) { // else it was by this request, when it came before
			continue
		}
		taken = append(taken, id)
		if from := t.Owner.From; from != "" {
			before[from]++
			names[from] = text.New(text.User(from))
			if t.Owner.FromName != "" {
				names[from] = text.New(text.Field(t.Owner.FromName))
			}
		}
	}
	user := text.Bold(text.Field(to.Name))
	switch {
	case len(ongoing) == 0:
		return unchanged(taken, text.New("Nothing is going on on ", c.Account.Name)), nil
	case len(taken) == 0:
		return unchanged(taken, text.Newf("%v is on all %v of %v already",
			user, text.Count(len(ongoing), "attack"), c.Account.Name)), nil
	}
	words := text.Newf("%v is on %v of %v now: %v. Until now: ",
		user, text.Count(len(taken), "attack"), c.Account.Name, text.Enumerate(taken, call.ShortList, text.AsCode))
	unowned := len(taken)
	for _, id := range slices.Sorted(maps.Keys(before)) {
		words.Addf("%v on %v, ", names[id], before[id])
		unowned -= before[id]
	}
	res = saved(taken, text.New(words, "unacknowledged: ", unowned))
	res.Saves.Triage = changed
	if len(before) > 0 || !to.Is(c.Actor) { // one event, however many attacks they are
		res.Saves.Events = []record.Event{handoverEvent(c, "take over ", record.TookOver, "", to.ID)}
		res.Saves.Events[0].At = since
	}
	return res, nil
}

// handoverEvent says that an attack has another owner now, or none. Without an attack, all of them have another owner.
func handoverEvent(c *call.Call, id string, kind record.EventKind, attackid, user string) record.Event {
	return record.Event{
		ID: id + c.ID, Account: c.Account.Name, Kind: kind, Subject: attackid, Channel: c.Account.Channel, At: c.Now,
		Detail: record.AttackFacts{To: user},
	}
}

// ongoingNow are the attacks that go on, as the service lists them: those in the store may be over. A storm stands for
// those that it groups.
func ongoingNow(c *call.Call) ([]apiclient.Attack, error) {
	listed, err := c.Facts.Attacks.Get()
	storms, stormsErr := report.StormsGoingOn(c)
	ongoing, groupedErr := report.Ungrouped(c, report.Ongoing(c, listed))
	if err != nil {
		return nil, refusal.FromService(fmt.Errorf("list attacks of %s: %w", c.Account.Name, err))
	}
	if err := cmp.Or(stormsErr, groupedErr); err != nil {
		return nil, err
	}
	for _, storm := range storms {
		ongoing = append(ongoing, storm.Attack)
	}
	return ongoing, nil
}

func handoverMisses(l record.Line) bool { return l.Keys["attack"] == "" && !l.Has("all") }
