package commands

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// storm is the storm that the call's attack is; ok tells whether it is one.
func (c *Call) storm() (seen StormSeen, ok bool, err error) {
	if c.Attack == nil || !record.IsStorm(c.Attack.Attack.ID) {
		return StormSeen{}, false, nil
	}
	all, err := c.facts(c.Account.Name).Storms()
	if err != nil {
		return StormSeen{}, true, Away(err)
	}
	i := slices.IndexFunc(all, func(s StormSeen) bool { return s.ID == c.Attack.ID })
	if i < 0 {
		return StormSeen{}, true, refusal.Usage(text.New("storm ", text.Code(c.Attack.ID), " is forgotten by now"))
	}
	return all[i], true, nil
}

// gathered is what a storm has gathered, the one with the latest hit first.
func (c *Call) gathered(a *Account, storm string) ([]GatheredAttack, error) {
	all, err := c.facts(a.Name).Grouped(storm)
	if err != nil {
		return nil, Away(err)
	}
	return all, nil
}

// gatheredIn is the storm that gathered the call's attack; ok tells whether one did.
func (c *Call) gatheredIn() (storm StormSeen, attack GatheredAttack, ok bool, err error) {
	storms, err := c.facts(c.Account.Name).Storms()
	if err != nil {
		return StormSeen{}, GatheredAttack{}, false, Away(err)
	}
	for _, s := range storms {
		all, err := c.gathered(c.Account, s.ID)
		if err != nil {
			return StormSeen{}, GatheredAttack{}, false, err
		}
		if i := slices.IndexFunc(all, func(g GatheredAttack) bool { return g.ID == c.Attack.ID }); i >= 0 {
			return s, all[i], true, nil
		}
	}
	return StormSeen{}, GatheredAttack{}, false, nil
}

// gatheredLine says that a storm stands for the call's attack; nothing if none does, or that isn't known.
func (c *Call) gatheredLine() (line text.Text, err error) {
	storm, attack, ok, err := c.gatheredIn()
	switch {
	case err != nil || !ok:
		return nil, err
	case attack.Own:
		return text.New("Gathered in storm ", text.Code(storm.ID), ", and it has a card of its own since"), nil
	}
	give := record.Line{Name: "cards"}.With("attack", c.Attack.ID)
	return text.New("Gathered in storm ", text.Code(storm.ID), ": it has no card of its own; ", text.Code(give.String()), " gives it one"), nil
}

// stormsGoingOn are the account's storms that go on, or whose attacks do; the newest first.
func (c *Call) stormsGoingOn(a *Account) ([]StormSeen, error) {
	all, err := c.facts(a.Name).Storms()
	if err != nil {
		return nil, Away(err)
	}
	return slices.DeleteFunc(all, func(s StormSeen) bool { return !s.Storm.GoesOn() && s.Storm.Ongoing+s.Storm.Knocking == 0 }), nil
}

// stormTyped finds the storm that was typed, by its id or any unique beginning of it.
func (c *Call) stormTyped(typed string) (*Account, StormSeen, error) {
	type found struct {
		account *Account
		storm   StormSeen
	}
	var hits []found
	var lastErr error
	for _, a := range c.All {
		all, err := c.facts(a.Name).Storms()
		if err != nil {
			lastErr = Away(err)
		}
		for _, s := range all {
			if record.MatchID(s.ID, typed) {
				hits = append(hits, found{a, s})
			}
		}
	}
	switch {
	case len(hits) == 1:
		return hits[0].account, hits[0].storm, nil
	case len(hits) > 1:
		return nil, StormSeen{}, refusal.Usage(text.New(text.Code(text.Sanitize(typed, text.MaxField)), " fits ", text.Count(len(hits), "storm"), ": write more of the id"))
	case lastErr != nil:
		return nil, StormSeen{}, lastErr
	case strings.HasPrefix(record.FoldID(typed), "a"):
		return nil, StormSeen{}, refusal.Usage(text.New(text.Code(text.Sanitize(typed, text.MaxField)), " is the id of an attack, and that of a storm begins with s: ", text.Code("explain attack="+text.Sanitize(typed, text.MaxField)), " says which one grouped it"))
	}
	return nil, StormSeen{}, noStorm(typed)
}

// readGathered lists what a storm gathered, what gets through first.
func (c *Call) readGathered() (Result, error) {
	a, storm, err := c.stormTyped(c.Line.Keys["storm"])
	if err != nil {
		return Result{}, err
	}
	all, err := c.gathered(a, storm.ID)
	if err != nil {
		return Result{}, err
	}
	if c.Line.Keys["since"] != "" {
		from, err := c.since(0)
		if err != nil {
			return Result{}, err
		}
		all = slices.DeleteFunc(all, func(g GatheredAttack) bool { return g.Last.Before(from) })
	}
	slices.SortStableFunc(all, func(x, y GatheredAttack) int { return worstFirst(x.Attack, y.Attack) })
	res := Result{Account: a.Name, AttackID: storm.ID, Lines: []text.Text{StormLine(a, storm.row(a.Name, record.Triage{}), c.Now)}}
	pages, data := c.pages(1), []AttackRow{}
	res.Lines = append(res.Lines, pages.part(len(all), func(i int) text.Text {
		own := text.Text(nil)
		if all[i].Own {
			own = text.New("(own card) ")
		}
		return attackLine(a, all[i].Attack, c.Now, own)
	})...)
	for _, g := range all {
		data = append(data, AttackRow{ID: g.ID, Account: a.Name, Ongoing: c.ongoing(a, g.Attack), Attack: g.Attack, Storm: storm.ID, Own: g.Own})
	}
	res.Data = data
	return pages.finish(res)
}

// stormsGathered are the storms that are remembered, for the field that asks for one.
func stormsGathered(c *Call) []Option {
	if c.Account == nil {
		return nil
	}
	all, err := c.facts(c.Account.Name).Storms()
	if err != nil {
		return nil
	}
	var options []Option
	for _, s := range all[:min(maxOptions, len(all))] {
		options = append(options, Option{Value: s.ID, Label: s.ID + " " + stormTitle(c.Account, s.Storm)})
	}
	return options
}

// stormTitle is a storm in a few words.
func stormTitle(a *Account, s record.Storm) string {
	return "storm on " + text.Sanitize(StormOn(s, a), text.MaxField) + ": " + text.Count(s.Gathered, "attack") + ", " + StormBlocking(s)
}

// stormLines are what a storm is, why it is there, and what doesn't fit in.
func (c *Call) stormLines(seen StormSeen) []text.Text {
	lines := []text.Text{StormLine(c.Account, seen.row(c.Account.Name, record.Triage{}), c.Now), text.New("Why one card: ", StormWhy(seen.Storm))}
	lines = append(lines, StormTallies(seen.Storm, c.Account, c.policy(), seen.SourceCount)...)
	named, left := StormOddNamed(seen.Storm)
	for _, odd := range named {
		lines = append(lines, text.New(text.Bold("Outlier: "), AttackLine(c.Account, odd, c.Now)))
	}
	if left > 0 {
		lines = append(lines, text.New("… and ", text.Number(left), " more outliers"))
	}
	return append(lines, text.New("All grouped attacks: ", text.Code(seen.list().String()), "; figures of ", seen.SeenAt))
}

// list is the line that lists what the storm gathered.
func (s StormSeen) list() record.Line { return record.Line{Name: "attacks"}.With("storm", s.ID) }

func noStorm(typed string) error {
	return refusal.Usage(text.New("no storm ", text.Code(text.Sanitize(typed, text.MaxField)), " is remembered: ", text.Code("status"), " names those that go on; at least ", record.MinPrefix, " characters of an id are needed"))
}
