package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

func attack() *Command {
	return &Command{
		Name: "attack", Role: Viewer,
		Summary: "one attack: what, from where, since when, and what was done",
		Args:    []Arg{{Name: "id", Object: true, Required: true, Help: "the attack's id, as on its card", Label: "Attack", Options: ongoingAttacks}},
		Read:    readAttack,
	}
}

func readAttack(ctx context.Context, c *Call) (Result, error) {
	a := c.Account
	k, old := c.fresh(ctx)
	noScene := c.look(ctx)
	res := Result{AttackID: k.ID, Account: a.Name}
	storm, isOne, err := c.storm(ctx)
	var noStorms error
	if err != nil {
		return Result{}, err
	}
	if isOne {
		res.Lines = c.stormLines(storm)
	} else {
		res.Lines = append(c.attackLinesOf(k), old...)
		var gathered Text
		if gathered, noStorms = c.gatheredLine(ctx); gathered != nil {
			res.Lines = append(res.Lines, gathered)
		}
	}
	row := AttackRow{ID: k.ID, Account: a.Name, Ongoing: c.ongoing(a, k.Attack), Attack: k.Attack}
	said, noCase := c.cfg.Desk.Case(ctx, a.Name, k.ID)
	changes, noChanges := c.cfg.Ledger.Changes(ctx, a.Name)
	effects, noEffects := c.cfg.Ledger.Effects(ctx, a.Name)
	row.Case = said
	res.Data = row
	if err := errors.Join(noCase, noChanges, noScene, noStorms, noEffects); err != nil { // reads go on without memory
		c.cfg.Log.Warn("read what was done", "account", a.Name, "attack", k.ID, "err", err)
		res.Lines = append(res.Lines, Say("Who is on it and what was done is unknown: wafbot's memory (Redis) can't be reached"))
	}
	res.Lines = append(res.Lines, caseLines(row.Case)...)
	now := Situation{Account: a, ID: k.ID, Attack: k.Attack, Scene: c.scene, Known: changes, Effects: effects, Now: c.Now}
	for _, ch := range changes {
		if ch.AttackID == k.ID && ch.Amends() == "" {
			res.Lines = append(res.Lines, Say("• ", changeRow(ch, now.EffectLine(ch))))
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
func (c *Call) attackLinesOf(k KnownAttack) []Text {
	lines := []Text{Say(AttackLine(c.Account, k.Attack, c.Now), In(k.Attack))}
	if k.Incident() {
		lines = append(lines, Say(Bold("It worked"), ", says the service: vulnerability ", Code(Visible(k.VulnID, maxField)), ". Assume data was read"))
	}
	return append(lines, Say("Sources: ", c.sourcesText(k.Attack)), Say("First hit ", ago(k.First, c.Now), ", ", figure(k.Payloads, "payload")))
}

// fresh is the call's attack as the service lists it now: the remembered record of one without a card may be an hour old.
// Where the service doesn't answer it is that one, and a line says so.
func (c *Call) fresh(ctx context.Context) (k KnownAttack, old []Text) {
	k = *c.Attack
	if IsStorm(k.Attack.ID) {
		return k, nil
	}
	now, listed, err := c.listedNow(ctx)
	if listed {
		k.Attack = now
	}
	if err != nil {
		old = []Text{Say("The service doesn't answer: these figures are the last that wafbot saw")}
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
		if more := c.scene.Seen[s.IP].Elsewhere(a, s.IP); more != "" {
			own += " (" + more + ")"
		}
		parts = append(parts, strings.TrimSpace(s.IP.String()+" "+Visible(s.Country, 20))+share+own)
	}
	if rest := a.SourceCount.N - int64(len(parts)); a.SourceCount.Known && rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return cmp.Or(strings.Join(parts, " · "), "unknown")
}

// ChangeLine is a change in one line: what, by whom, until when, what became of it, and its id where it can be taken back.
// What was seen of its effect stands where it was accepted; nil: nothing yet.
func ChangeLine(ch Change, effect Text) Text {
	if ch.State == StateFailed || ch.State == StateUndone {
		return changeWords(ch, effect)
	}
	return Say(changeWords(ch, effect), " ", ch.shownID())
}

// changeRow is a change in a listing. Its id stands first: where a row is cut, what undo wants to know is still there.
func changeRow(ch Change, effect Text) Text {
	return Say(ch.shownID(), " ", changeWords(ch, effect))
}

func (c Change) shownID() Code { return Code(cmp.Or(c.Extends, c.ID)) }

// by is who made the change, and who approved it.
func (c Change) by() Text {
	switch {
	case c.Approved != nil:
		return Say(c.Actor.Name, ", approved by ", c.Approved.Name)
	case c.Alone:
		return Say(c.Actor.Name, ", ", Bold("alone"))
	}
	return Say(c.Actor.Name)
}

// span is what the change does, who made it when, and until when it holds.
func (c Change) span() Text {
	line := Say(c.Does, " · ", c.by(), " ", c.At)
	if !c.Until.IsZero() {
		line = Say(line, " → ", c.Until, c.renewal())
	}
	return line
}

func changeWords(ch Change, effect Text) Text {
	line := ch.span()
	switch ch.State {
	case StateBegun:
		return Say(line, " · in hand")
	case StateFailed: // it holds until nothing
		return Say(ch.Does, " · ", ch.by(), " ", ch.At, " · ", Bold("NOT done"), ": ", ch.Fault)
	case StateHalf:
		return Say(line, " · ", Bold("only partly done"), ": ", ch.Fault)
	case StateUndone:
		line = Say(line, " · taken back by ", ch.EndedBy.Name, " ", ch.EndedAt)
		if ch.Gone {
			line = Say(line, ", nothing of it was left")
		}
		return line
	}
	if len(effect) > 0 {
		return Say(line, " · ", effect)
	}
	return Say(line, " · ", ch.shouldWork())
}
