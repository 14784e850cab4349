package verb

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

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
