package commands

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func attack() *Command {
	return &Command{
		Name: "attack", Role: record.Viewer,
		Summary: "one attack: what, from where, since when, and what was done",
		Args:    []Arg{{Name: "id", Object: true, Required: true, Help: "the attack's id, as on its card", Label: "Attack", Options: ongoingAttacks}},
		Read:    readAttack,
	}
}

func readAttack(c *Call) (Result, error) {
	a := c.Account
	k, old := c.fresh()
	noScene := c.look()
	res := Result{AttackID: k.ID, Account: a.Name}
	storm, isOne, err := c.storm()
	var noStorms error
	if err != nil {
		return Result{}, err
	}
	if isOne {
		res.Lines = c.stormLines(storm)
	} else {
		res.Lines = append(c.attackLinesOf(k), old...)
		var gathered text.Text
		if gathered, noStorms = c.gatheredLine(); gathered != nil {
			res.Lines = append(res.Lines, gathered)
		}
	}
	row := AttackRow{ID: k.ID, Account: a.Name, Ongoing: c.ongoing(a, k.Attack), Attack: k.Attack}
	said, noCase := c.facts(a.Name).Triage(k.ID)
	changes, noChanges := c.facts(a.Name).Changes()
	effects, noEffects := c.facts(a.Name).Efficacy()
	row.Case = said
	res.Data = row
	if err := errors.Join(noCase, noChanges, noScene, noStorms, noEffects); err != nil { // reads go on without memory
		res.Lines = append(res.Lines, text.New("Who is on it and what was done is unknown: wafbot's store (Redis) can't be reached"))
	}
	res.Lines = append(res.Lines, caseLines(row.Case)...)
	now := Situation{Account: a, ID: k.ID, Attack: k.Attack, Scene: c.scene, Known: changes, Effects: effects, Now: c.Now}
	for _, ch := range changes {
		if ch.AttackID == k.ID && ch.Amends() == "" {
			res.Lines = append(res.Lines, text.New("• ", changeRow(ch, now.EffectLine(ch))))
			res.Changes = append(res.Changes, ch)
		}
	}
	// The newest first, and last of all: of a hundred notes a message of a chat holds some.
	for _, n := range slices.Backward(row.Case.Notes) {
		res.Lines = append(res.Lines, NoteLine(n))
	}
	return res, nil
}

// attackLinesOf are what an attack is, from where and since when.
func (c *Call) attackLinesOf(k KnownAttack) []text.Text {
	lines := []text.Text{text.New(AttackLine(c.Account, k.Attack, c.Now), In(k.Attack))}
	if k.Incident() {
		lines = append(lines, text.New(text.Bold("It worked"), ", says the service: vulnerability ", text.Code(text.Sanitize(k.VulnID, text.MaxField)), ". Assume data was read"))
	}
	return append(lines, text.New("Sources: ", c.sourcesText(k.Attack)), text.New("First hit ", ago(k.First, c.Now), ", ", figure(k.Payloads, "payload")))
}

// fresh is the call's attack as the service lists it now: the remembered record of one without a card may be an hour old.
// Where the service doesn't answer it is that one, and a line says so.
func (c *Call) fresh() (k KnownAttack, old []text.Text) {
	k = *c.Attack
	if record.IsStorm(k.Attack.ID) {
		return k, nil
	}
	now, listed, err := c.listedNow()
	if listed {
		k.Attack = now
	}
	if err != nil {
		old = []text.Text{text.New("The service doesn't answer: these figures are the last that wafbot saw")}
	}
	return k, old
}

func (c *Call) sourcesText(a apiclient.Attack) string {
	var parts []string
	for _, s := range a.Sources[:min(3, len(a.Sources))] {
		share := ""
		if percent, ok := Share(s, a); ok {
			share = " " + Percent(percent)
		}
		own := ""
		if src, ok := c.policy().SourceOf(s.IP); ok {
			own = " = " + src.Name
		}
		if more := SourceActivityElsewhere(c.scene.Seen[s.IP], a, s.IP); more != "" {
			own += " (" + more + ")"
		}
		parts = append(parts, strings.TrimSpace(s.IP.String()+" "+text.Sanitize(s.Country, 20))+share+own)
	}
	if rest := a.SourceCount.N - int64(len(parts)); a.SourceCount.Known && rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return cmp.Or(strings.Join(parts, " · "), "unknown")
}

// ChangeLine is a change in one line: what, by whom, until when, what became of it, and its id where it can be taken back.
// What was seen of its effect stands where it was accepted; nil: nothing yet.
func ChangeLine(ch record.Change, effect text.Text) text.Text {
	if ch.State == record.StateFailed || ch.State == record.StateUndone {
		return changeWords(ch, effect)
	}
	return text.New(changeWords(ch, effect), " ", changeShownID(ch))
}

// changeRow is a change in a listing. Its id stands first: where a row is cut, what undo wants to know is still there.
func changeRow(ch record.Change, effect text.Text) text.Text {
	return text.New(changeShownID(ch), " ", changeWords(ch, effect))
}

func changeShownID(c record.Change) text.Code { return text.Code(cmp.Or(c.Extends, c.ID)) }

// by is who made the change, and who approved it.
func changeBy(c record.Change) text.Text {
	switch {
	case c.Approved != nil:
		return text.New(c.Actor.Name, ", approved by ", c.Approved.Name)
	case c.Alone:
		return text.New(c.Actor.Name, ", ", text.Bold("alone"))
	}
	return text.New(c.Actor.Name)
}

// span is what the change does, who made it when, and until when it holds.
func changeSpan(c record.Change) text.Text {
	line := text.New(c.Does, " · ", changeBy(c), " ", c.At)
	if !c.Until.IsZero() {
		line = text.New(line, " → ", c.Until, changeRenewal(c))
	}
	return line
}

func changeWords(ch record.Change, effect text.Text) text.Text {
	line := changeSpan(ch)
	switch ch.State {
	case record.StateBegun:
		return text.New(line, " · in hand")
	case record.StateFailed: // it holds until nothing
		return text.New(ch.Does, " · ", changeBy(ch), " ", ch.At, " · ", text.Bold("NOT done"), ": ", ch.Fault)
	case record.StateHalf:
		return text.New(line, " · ", text.Bold("only partly done"), ": ", ch.Fault)
	case record.StateUndone:
		line = text.New(line, " · undone by ", ch.EndedBy.Name, " ", ch.EndedAt)
		if ch.Gone {
			line = text.New(line, ", nothing of it was left")
		}
		return line
	}
	if len(effect) > 0 {
		return text.New(line, " · ", effect)
	}
	return text.New(line, " · ", changeShouldWork(ch))
}
