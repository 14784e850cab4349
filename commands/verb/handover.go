package verb

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func handover() *call.Command {
	return &call.Command{
		Name: "handover", Aliases: []string{"assign"}, Role: record.Responder,
		Summary: "hand an attack to another user, or take it over; with --all everything that goes on",
		Args: []call.Arg{
			{Name: "message", Object: true, Rest: true, Help: "what they should know: becomes a note", Kind: call.FieldLines},
			{Name: "to", Required: true, Help: "who: @me, a mention, or a Slack user id as U0123ABCD", Label: "To", Read: call.ReadUser, Kind: call.FieldUser},
			{Name: "attack", Help: "the attack's id, as on its card; in a card's thread it need not be written; left out with --all", Options: form.OngoingAttacks},
		},
		Flags: []string{"all"}, Example: "handover --all to=@me", Form: form.HandoverForm,
		Missing: func(l record.Line) bool { return l.Keys["attack"] == "" && !l.Has("all") },
		Write:   writeHandover,
	}
}

func writeHandover(c *call.Call) (call.Result, error) {
	switch {
	case c.Line.Has("all"):
		if c.Attack != nil && !c.Implied {
			return call.Result{}, c.Cmd.Misuse(text.New("name an attack or write ", text.Code("--all"), ", not both"))
		}
		dropAttack(c)
		return writeTakeOver(c)
	case c.Attack == nil:
		return call.Result{}, c.Cmd.Misuse(text.New(text.Code("attack="), " is missing: the attack's id, as on its card; or write ", text.Code("--all")))
	}
	to, err := assignee(c)
	if err != nil {
		return call.Result{}, err
	}
	k, err := triageOf(c)
	if err != nil {
		return call.Result{}, err
	}
	before := k.Owner
	if before != nil && before.ID == to.ID && len(c.Line.Words) == 0 {
		return unchanged(k, text.New(describe.Owner(before), " already. Nothing was changed")), nil
	}
	k.Owner = owner(c, to)
	if before != nil && before.ID == to.ID {
		k.Owner.Since, k.Owner.From, k.Owner.FromName = before.Since, before.From, before.FromName
	} else if before != nil {
		k.Owner.From, k.Owner.FromName = before.ID, before.Name
	}
	if len(c.Line.Words) > 0 {
		if k.Owner.Note, err = addNote(c, &k, c.Line.Words[0]); err != nil {
			return call.Result{}, err
		}
	}
	how := text.New(", handed over by ", c.Actor.Name)
	if to.ID == c.Actor.ID {
		how = text.New(", taken over")
	}
	return saveTriage(c, k, to.ID, text.New(describe.Owner(k.Owner), how, ". The thread of the attack's card says so"))
}

// assignee is the user to whom a line hands an attack over: a full member who may act.
func assignee(c *call.Call) (record.Actor, error) {
	to := record.Actor{ID: c.Line.Keys["to"], Team: c.Actor.Team}
	if to.ID == call.Me || to.ID == c.Actor.ID {
		return c.Actor, nil
	}
	s := c.Given().Rights(to)
	to.Name = cmp.Or(s.Name, to.ID)
	needs := text.New(". Who is on an attack needs the role ", text.Bold(record.Responder.String()), ". Nothing was changed")
	switch {
	case s.Unsure:
		return record.Actor{}, refusal.Guarded(text.New("Slack doesn't say just now who ", text.User(to.ID), " is. Nothing was changed: try again in a moment"))
	case s.Role < record.Responder && s.Could >= record.Responder:
		return record.Actor{}, refusal.Guarded(text.New("Slack doesn't say just now whether ", text.User(to.ID), " is in a user group that has a role. Nothing was changed: try again in a moment"))
	case s.Role == record.NoRole:
		return record.Actor{}, refusal.Guarded(text.New(text.User(to.ID), " has no role here, or is no full member of the workspace", needs))
	case s.Role < record.Responder:
		return record.Actor{}, refusal.Guarded(text.New(text.User(to.ID), " has the role ", s.Role.String(), approval.ByGroup(s.Group), needs))
	}
	return to, nil
}

// writeTakeOver hands every attack that goes on to one user. It is one write: the account's lock is held, and there is one answer.
func writeTakeOver(c *call.Call) (call.Result, error) {
	to, toErr := assignee(c)
	ongoing, ongoingErr := ongoingNow(c)
	triages, err := c.Given().Triages()
	if err != nil {
		err = refusal.Away(err)
	}
	if err := cmp.Or(toErr, ongoingErr, err); err != nil {
		return call.Result{}, err
	}
	t := taken{to: to, names: map[string]string{}, since: record.Earlier(c.At, c.Now)}
	changed := map[string]record.Triage{} // all are checked before one is saved: a refusal changes none of them
	for _, attack := range ongoing {
		id := record.AttackID(c.Account.Name, attack.ID)
		k := triages[id]
		if k.Owner != nil && k.Owner.ID == to.ID {
			if !k.Owner.Since.Before(t.since) { // by this request, when it came before
				t.add(id, k)
			}
			continue
		}
		if err := takeOne(c, &k, to); err != nil {
			return call.Result{}, err
		}
		changed[id] = k
		t.add(id, k)
	}
	if len(t.ids) == 0 && len(ongoing) == 0 {
		return unchanged(t.ids, text.New("Nothing is going on on ", c.Account.Name, ". Nothing was changed")), nil
	}
	if len(t.ids) == 0 {
		return unchanged(t.ids, text.New(text.Bold(text.Sanitize(to.Name, text.MaxField)), " is on all ", text.Count(len(ongoing), "attack"), " of ", c.Account.Name, " already. Nothing was changed")), nil
	}
	res := saved(t.ids, t.answer(c.Account.Name))
	res.Saves.Triage = changed
	if len(t.from) > 0 || to.ID != c.Actor.ID {
		res.Saves.Events = []record.Event{takeOverEvent(c, t)}
	}
	return res, nil
}

// ongoingNow are the attacks that go on, as the service lists them: those in the store may be over. A storm stands for those that it groups.
func ongoingNow(c *call.Call) ([]apiclient.Attack, error) {
	listed, err := c.Given().Attacks(apiclient.AttackFilter{From: report.OngoingFrom(c, c.Account)})
	storms, stormsErr := report.StormsGoingOn(c, c.Account)
	if err != nil {
		return nil, refusal.FromService(fmt.Errorf("list attacks of %s: %w", c.Account.Name, err))
	}
	if stormsErr != nil {
		return nil, stormsErr
	}
	ongoing := report.Ongoing(c, c.Account, listed)
	for _, storm := range storms {
		gathered, err := report.Grouped(c, c.Account, storm.ID)
		if err != nil {
			return nil, err
		}
		standsFor := map[string]bool{}
		for _, g := range gathered {
			standsFor[g.ID] = !g.Own
		}
		ongoing = slices.DeleteFunc(ongoing, func(a apiclient.Attack) bool { return standsFor[record.AttackID(c.Account.Name, a.ID)] })
		ongoing = append(ongoing, storm.Attack)
	}
	return ongoing, nil
}

// takeOne hands one attack to a user.
func takeOne(c *call.Call, k *record.Triage, to record.Actor) error {
	before := k.Owner
	k.Owner = owner(c, to)
	if before != nil {
		k.Owner.From, k.Owner.FromName = before.ID, before.Name
	}
	if len(c.Line.Words) > 0 {
		var err error
		if k.Owner.Note, err = addNote(c, k, c.Line.Words[0]); err != nil {
			return err
		}
	}
	return nil
}

// taken is what one user took over.
type taken struct {
	to    record.Actor
	since time.Time
	ids   []string
	from  []string          // ids of the owners before, one for each attack that had one
	names map[string]string // of those
}

func (t *taken) add(id string, k record.Triage) {
	t.ids = append(t.ids, id)
	if k.Owner.From != "" {
		t.from = append(t.from, k.Owner.From)
		t.names[k.Owner.From] = cmp.Or(k.Owner.FromName, k.Owner.From)
	}
}

// answer says on how many attacks the user is now, and who was on them before.
func (t *taken) answer(account string) text.Text {
	words := text.New(text.Bold(text.Sanitize(t.to.Name, text.MaxField)), " is on ", text.Count(len(t.ids), "attack"), " of ", account, " now: ", text.Enumerate(t.ids, call.ShortList, text.AsCode), ". Until now: ")
	slices.Sort(t.from)
	for _, who := range slices.Compact(slices.Clone(t.from)) {
		n := 0
		for _, from := range t.from {
			if from == who {
				n++
			}
		}
		words = text.New(words, text.Sanitize(t.names[who], text.MaxField), " on ", n, ", ")
	}
	return text.New(words, "unacknowledged: ", len(t.ids)-len(t.from))
}

// handoverEvent is the event that the call's attack was handed over.
func handoverEvent(c *call.Call, to string) record.Event {
	return record.Event{
		ID: "handover " + c.ID, Account: c.Account.Name, Kind: record.HandedOver, Channel: c.Account.Channel, At: c.Now,
		Payload: record.Assignment{Attack: c.Attack.Attack, To: to},
	}
}

// takeOverEvent is the event that a person was put on all attacks of the account: one, however many they are.
func takeOverEvent(c *call.Call, t taken) record.Event {
	return record.Event{
		ID: "take over " + c.ID, Account: c.Account.Name, Kind: record.TookOver, Channel: c.Account.Channel, At: t.since,
		Payload: record.Assignment{To: t.to.ID},
	}
}
