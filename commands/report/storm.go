package report

import (
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Storm is the storm that the call's attack is; ok reports whether it is one.
func Storm(c *call.Call) (seen record.StormSeen, ok bool, err error) {
	if c.Attack == nil || !record.IsStorm(c.Attack.Attack.ID) {
		return seen, false, nil
	}
	all, err := c.Facts.Storms.Get()
	if err != nil {
		return seen, true, refusal.Away(err)
	}
	i := slices.IndexFunc(all, func(s record.StormSeen) bool { return s.ID == c.Attack.ID })
	if i < 0 {
		return seen, true, refusal.Usage("storm `%v` is no longer stored", c.Attack.ID)
	}
	return all[i], true, nil
}

// Grouped is what a storm has grouped, the one with the latest hit first.
func Grouped(c *call.Call, storm string) ([]record.StormSeen, error) {
	all, err := c.Facts.Grouped.Get()
	if err != nil {
		return nil, refusal.Away(err)
	}
	return slices.Clone(all[storm]), nil
}

// GroupedNeeds asks for what the stored storms grouped.
func GroupedNeeds(c *call.Call) (n call.Needs) {
	for _, s := range c.Facts.Storms.Value {
		n.Grouped = append(n.Grouped, s.ID)
	}
	return n
}

// StormOfLine says that a storm stands for the call's attack; nothing if none does, or that isn't known.
func StormOfLine(c *call.Call) (text.Text, error) {
	storms, err := c.Facts.Storms.Get()
	if err != nil {
		return nil, refusal.Away(err)
	}
	for _, s := range storms {
		all, err := Grouped(c, s.ID)
		i := slices.IndexFunc(all, func(g record.StormSeen) bool { return g.ID == c.Attack.ID })
		switch {
		case err != nil:
			return nil, err
		case i >= 0 && all[i].Own:
			return text.Newf("Grouped in storm `%v`, and it has a card of its own since", s.ID), nil
		case i >= 0:
			return text.Newf("Grouped in storm `%v`: it has no card of its own", s.ID), nil
		}
	}
	return nil, nil
}

// StormsGoingOn are the storms of the call's account that go on, or whose attacks do; the newest first.
func StormsGoingOn(c *call.Call) ([]record.StormSeen, error) {
	all, err := c.Facts.Storms.Get()
	if err != nil {
		return nil, refusal.Away(err)
	}
	return slices.DeleteFunc(all, func(s record.StormSeen) bool { return !s.Active() }), nil
}

// Ungrouped are those of the attacks for which no storm's card stands; all if that can't be read.
func Ungrouped(c *call.Call, attacks []apiclient.Attack) ([]apiclient.Attack, error) {
	grouped, err := c.Facts.InStorms.Get()
	if err != nil {
		return attacks, refusal.Away(err)
	}
	return slices.DeleteFunc(attacks, func(one apiclient.Attack) bool {
		return grouped[record.AttackID(c.Account.Name, one.ID)]
	}), nil
}

// stormTyped finds the storm that was typed, by its id or any unique beginning of it.
func stormTyped(c *call.Call, typed string) (account *config.Account, storm record.StormSeen, err error) {
	found := 0
	for _, a := range c.InScope {
		all, failed := c.FactsOf(a.Name).Storms.Get()
		if failed != nil {
			err = refusal.Away(failed)
		}
		for _, s := range all {
			if record.MatchID(s.ID, typed) {
				account, storm, found = a, s, found+1
			}
		}
	}
	shown := text.Code(text.Field(typed))
	switch {
	case found == 1:
		return account, storm, nil
	case found > 1:
		err = refusal.Usage("%v fits %v: write more of the id", shown, text.Count(found, "storm"))
	case err != nil:
	case strings.HasPrefix(record.FoldID(typed), "a"):
		err = refusal.Usage("%v is the id of an attack, and that of a storm begins with s: %v says which one grouped it",
			shown, "explain attack="+shown)
	default:
		err = NoStorm(typed)
	}
	return nil, storm, err
}

// ListNeeds are those of ListAttacks, or of ListGrouped where the line names a storm.
func ListNeeds(back time.Duration, incidents bool) call.Rounds {
	return call.Rounds{func(c *call.Call) call.Needs {
		from, err := Since(c, back)
		if err != nil || c.Line.Keys["storm"] != "" {
			return call.Needs{Storms: c.Line.Keys["storm"] != ""}
		}
		return call.Needs{Attacks: apiclient.AttackFilter{From: from, IncidentsOnly: incidents}}
	}, func(c *call.Call) call.Needs {
		n := GroupedNeeds(c)
		n.Grouped = slices.DeleteFunc(n.Grouped, func(id string) bool { return !record.MatchID(id, c.Line.Keys["storm"]) })
		return n
	}}
}

// ListGrouped lists what a storm grouped, what gets through first.
func ListGrouped(c *call.Call) (res call.Result, err error) {
	a, storm, err := stormTyped(c, c.Line.Keys["storm"])
	if err != nil {
		return res, err
	}
	c = c.For(a)
	all, err := Grouped(c, storm.ID)
	if err != nil {
		return res, err
	}
	if c.Line.Keys["since"] != "" {
		from, err := Since(c, 0)
		if err != nil {
			return res, err
		}
		all = slices.DeleteFunc(all, func(g record.StormSeen) bool { return g.Last.Before(from) })
	}
	slices.SortStableFunc(all, func(x, y record.StormSeen) int { return words.WorstFirst(x.Attack, y.Attack) })
	data := []call.AttackRow{}
	for _, g := range all {
		row := c.AttackRow(g.Attack, record.Triage{})
		row.Storm, row.OwnCard = storm.ID, g.Own
		data = append(data, row)
	}
	pages := call.Pages(c, 1)
	lines := pages.Part(len(all), func(i int) text.Text {
		var own text.Text
		if all[i].Own {
			own = text.New("(own card) ")
		}
		return words.AttackWithCard(a, all[i].Attack, c.Now, own)
	})
	head := words.StormLine(a, c.StormRow(storm, record.Triage{}), c.Now)
	return pages.Finish(call.Result{Account: a.Name, AttackID: storm.ID, Lines: append(text.Lines{head}, lines...),
		Data: data})
}

// StormLines are what a storm is, why it is there, and what doesn't fit in.
func StormLines(c *call.Call, seen record.StormSeen) text.Lines {
	s := seen.Storm
	lines := append(text.Lines{words.StormLine(c.Account, c.StormRow(seen, record.Triage{}), c.Now),
		text.New("Why one card: ", words.NoOwnCards(s))}, words.Tallies(s, c.Account, c.PolicyNow(), seen.SourceCount)...)
	for _, one := range s.Unblocked[:min(maxUnblocked, len(s.Unblocked))] {
		lines.Addf("*Gets through: *%v", words.Attack(c.Account, one, c.Now))
	}
	if more := s.UnblockedCount - maxUnblocked; more > 0 {
		lines.Addf("… and %v more that get through", text.Number(more))
	}
	for _, behind := range s.Behind {
		lines.Addf("*Behind that: *%v, in %v of these and %v of all",
			words.StormSource(behind.Source, c.PolicyNow()), text.Number(behind.In), text.Number(behind.InAll))
	}
	return append(lines, besideStorm(s), text.Newf("All grouped attacks: `%v`; figures of %v",
		StormListLine(seen).String(), seen.SeenAt))
}

// maxUnblocked is how much of what gets through is named where a storm is shown.
const maxUnblocked = 8

// besideStorm says which attacks have cards of their own.
func besideStorm(s record.Storm) text.Text {
	since := "meanwhile"
	if s.CaughtUp {
		since = "since the first poll"
	}
	return text.Newf("Cards of their own: %v attacks from before it, %v of those that it groups, and %v %v",
		text.Number(s.Before), text.Number(s.OwnCards), text.Count(s.Incidents, "incident"), since)
}

// StormListLine is the line that lists what the storm grouped.
func StormListLine(s record.StormSeen) record.Line {
	return record.Line{Name: "attacks"}.With("storm", s.ID)
}

// NoStorm refuses an id that is no stored storm's.
func NoStorm(typed string) error {
	return refusal.Usage("Unknown storm: `%v`. `status` names those that go on. An id needs at least %v characters",
		text.Field(typed), record.MinPrefix)
}
