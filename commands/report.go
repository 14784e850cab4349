package commands

import (
	"context"
	"errors"
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

func report() *Command {
	return &Command{
		Name: "report", Role: record.Viewer, Past: true,
		Summary: "what happened in an attack and what was done, to be copied as Markdown",
		Args:    []Arg{argCase, argPage},
		Read:    readReport,
	}
}

// history is all that is known of an attack, for programs.
type history struct {
	ID       string                     `json:"id"`
	Account  string                     `json:"account"`
	At       time.Time                  `json:"at"`                // when it was put together
	Attack   apiclient.Attack           `json:"attack"`            // as it was read last
	ReadAt   time.Time                  `json:"read_at,omitzero"`  // when that was; zero: not known
	Listed   bool                       `json:"listed"`            // the service lists it now
	Evidence *record.Evidence           `json:"evidence"`          // nil: none is kept
	Case     record.Triage              `json:"case"`              //
	Changes  []record.Change            `json:"changes"`           // for this attack, the oldest first
	Effects  map[string]record.Efficacy `json:"effects,omitempty"` // what was seen of the account's changes, by their ids
	InPlace  []record.Change            `json:"in_place"`          // of these
	Entries  []record.AuditEntry        `json:"audit"`             // about it, the oldest first
	Mutes    []record.Mute              `json:"mutes,omitempty"`   // that cover it now
	Blind    []record.Outage            `json:"blind,omitempty"`   // that fall into it
	Modes    []modeSpell                `json:"modes,omitempty"`   // likewise
	Unknown  []text.Text                `json:"unknown,omitempty"` // what is not known, and why
	Storm    *StormRow                  `json:"storm,omitempty"`   // nil: it is an attack

	away bool // the memory could not be read, or a part of it
}

func readReport(c *Call) (Result, error) {
	h := c.history()
	words := c.document(h)
	res := Result{AttackID: h.ID, Account: h.Account, Data: h, Document: words}
	if c.Actor.Via == record.ViaCLI {
		return res, nil
	}
	pages := text.DocumentPages(words)
	page := 1
	if n, err := strconv.Atoi(c.Line.Keys["page"]); err == nil {
		page = n
	}
	if page > len(pages) {
		return Result{}, refusal.Usage(text.New("there is no page ", page, ": the last one is ", len(pages)))
	}
	res.Document = pages[page-1]
	res.Lines = []text.Text{AttackLine(c.Account, h.Attack, c.Now)}
	if h.Storm != nil {
		res.Lines = []text.Text{StormLine(c.Account, *h.Storm, c.Now)}
	}
	if page < len(pages) {
		next := c.Line.With("page", strconv.Itoa(page+1)).With("account", h.Account)
		res.Next = &next
	}
	which := "The report as Markdown, to be copied"
	if len(pages) > 1 {
		which = fmt.Sprintf("The report as Markdown, to be copied: page %d of %d. At the terminal it comes in one piece: ", page, len(pages))
		return res.and(text.New(which, text.Code("wafbot report attack="+h.ID))), nil
	}
	return res.and(text.New(which)), nil
}

// history gathers what is known of the call's attack. What can't be read is told in it: a report is wanted most when something is broken.
func (c *Call) history() history {
	a := c.Account
	h := history{ID: c.Attack.ID, Account: a.Name, At: c.Now, Attack: c.Attack.Attack}
	storm, isOne, noStorm := c.storm()
	if c.failed(&h, "read storm", noStorm); noStorm == nil && isOne {
		h.Storm, h.Attack, h.ReadAt = new(storm.row(a.Name, record.Triage{})), storm.Attack, storm.SeenAt
	}
	var now apiclient.Attack
	var err error
	if !isOne {
		now, h.Listed, err = c.listedNow()
	}
	if h.Listed {
		h.Attack, h.ReadAt = now, c.Now
	}
	c.recall(&h)
	switch {
	case isOne:
	case err != nil:
		words, _ := ForPeople(c.Invocation, forPeople(err))
		h.unknown(text.New("How it goes on: ", words, ". The figures are the last that wafbot saw"))
	case !h.Listed:
		h.unknown(text.New("How it goes on: the service no longer lists it. The figures are the last that wafbot saw"))
	}
	c.recorded(&h)
	return h
}

func (h *history) unknown(t text.Text) { h.Unknown = append(h.Unknown, t) }

// failed notes a part of the memory that could not be read.
func (c *Call) failed(h *history, doing string, err error) {
	if err != nil {
		h.away = true
	}
}

// recall adds what is kept about the attack itself.
func (c *Call) recall(h *history) {
	e, ok, err := c.facts(h.Account).Evidence(h.ID)
	if c.failed(h, "read evidence", err); ok {
		h.Evidence = &e
	}
	if !h.Listed {
		seen, ok, err := c.facts(h.Account).Observation(h.ID)
		switch c.failed(h, "read attack", err); {
		case ok:
			h.ReadAt = seen.At
		case h.Evidence != nil:
			h.Attack, h.ReadAt = evidenceLast(*h.Evidence)
		}
	}
	h.Case, err = c.facts(h.Account).Triage(h.ID)
	c.failed(h, "read what was said", err)
	mutes, err := c.facts(h.Account).Mutes()
	c.failed(h, "read mutes", err)
	for _, m := range mutes {
		if !h.Attack.Incident() && !m.Over(c.Now) && muteCovers(m, h.Attack) {
			h.Mutes = append(h.Mutes, m)
		}
	}
}

// last is the newest reading that is kept.
func evidenceLast(e record.Evidence) (apiclient.Attack, time.Time) {
	if e.Peak != nil && e.Peak.At.After(e.First.At) {
		return e.Peak.Attack, e.Peak.At
	}
	return e.First.Attack, e.First.At
}

// recorded adds what was done, by whom, and when nobody could see it.
func (c *Call) recorded(h *history) {
	all, err := c.facts(h.Account).Changes()
	c.failed(h, "read changes", err)
	for _, ch := range slices.Backward(all) {
		if ch.AttackID != h.ID {
			continue
		}
		h.Changes = append(h.Changes, ch)
		if (ch.InForce(c.Now) || ch.Overdue(c.Now)) && ch.Amends() == "" && !changeSuperseded(ch, all) {
			h.InPlace = append(h.InPlace, ch)
		}
	}
	h.Effects, err = c.facts(h.Account).Efficacy()
	c.failed(h, "read effects", err)
	from, until := h.span(c.Now, c.Account.OngoingFor)
	entries, err := c.facts(h.Account).Audit(from)
	if errors.Is(err, record.ErrBadEntry) {
		h.unknown(text.New("What was asked and said: an entry of the audit log can't be read. ", text.Code("audit verify"), " tells which"))
		err = nil
	}
	c.failed(h, "read audit log", err)
	for _, e := range slices.Backward(entries) {
		if auditEntryIsAbout(e, h.ID) {
			h.Entries = append(h.Entries, e)
		}
	}
	blind, err := c.facts(h.Account).Outages(from)
	c.failed(h, "read blind spells", err)
	for _, s := range blind {
		if s.From.Before(until) {
			h.Blind = append(h.Blind, s)
		}
	}
	c.modesOf(h, all)
}

// modesOf adds the times in which no incident could be registered on the attack's application: because of wafbot's changes, and of a rule that is there now.
func (c *Call) modesOf(h *history, changes []record.Change) {
	if !h.Attack.App.Known {
		return
	}
	from, until := h.span(c.Now, c.Account.OngoingFor)
	app := int(h.Attack.App.N)
	rules, err := c.given().Rules(apiclient.RuleFilter{})
	if err != nil {
		h.unknown(text.New("Whether others set a mode in which no incident is registered: ", notBecause(err)))
	}
	add := func(app int) {
		known := false
		for _, m := range modeSpells(changes, c.Now) {
			if m.App == app && m.overlaps(from, until) {
				h.Modes = append(h.Modes, m)
				known = known || m.Until.IsZero() || m.Until.After(c.Now)
			}
		}
		if rule := hiding(rules, app); rule != nil && !known && rule.Updated.Before(until) {
			h.Modes = append(h.Modes, modeSpell{App: app, Mode: rule.Mode, From: rule.Updated})
		}
	}
	add(app)
	if own, _ := modeRules(rules, app); err == nil && app != apiclient.DefaultApp && (own == nil || own.Mode == apiclient.ModeDefault) {
		add(apiclient.DefaultApp)
	}
}

// isAbout reports whether an entry is about an attack. Of a line that was refused before it was looked up only its words tell.
func auditEntryIsAbout(e record.AuditEntry, attack string) bool {
	if e.Attack != "" {
		return e.Attack == attack
	}
	line, err := grammar.Parse(e.Line)
	if err == nil && line.Has("all") && e.Outcome == "done" && len(e.After) > 1 { // an account that was handed over
		return slices.Contains(strings.Fields(e.After[1]), attack)
	}
	return err == nil && record.MatchID(attack, line.Keys["attack"])
}

// span is the time that a report is about: from the first hit, or the first sight where that is earlier or all that is known, to now, or until
// the attack counted as over. Zero times where nothing is known.
func (h *history) span(now time.Time, ongoingFor time.Duration) (from, until time.Time) {
	from = h.Attack.First
	if h.Evidence != nil && (from.IsZero() || h.Evidence.First.At.Before(from)) {
		from = h.Evidence.First.At
	}
	until = now
	if last := h.Attack.Last; !last.IsZero() && last.Add(ongoingFor).Before(now) {
		until = last.Add(ongoingFor)
	}
	return from, until
}

// listedNow is the call's attack as the service lists it; listed tells whether it does.
func (c *Call) listedNow() (a apiclient.Attack, listed bool, err error) {
	all, err := c.given().Attacks(apiclient.AttackFilter{From: c.Now.Add(-c.Account.Lookback)})
	i := slices.IndexFunc(all, func(a apiclient.Attack) bool { return record.AttackID(c.Account.Name, a.ID) == c.Attack.ID })
	if i < 0 {
		return a, false, err
	}
	return all[i], true, nil
}

// pastAttacks is the attack with that whole id, of which nothing but its evidence is left.
func (r *Runner) pastAttacks(ctx context.Context, a *Account, typed string) ([]KnownAttack, error) {
	id := record.FoldID(typed)
	e, ok, err := r.cfg.Records.Evidence(ctx, a.Name, id)
	if err != nil {
		r.cfg.Log.Warn("read evidence", "account", a.Name, "err", err)
		return nil, &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New("wafbot's store (Redis) can't be reached, and what is known of past attacks is in it. Try again in a moment")}
	}
	if !ok {
		return nil, nil
	}
	attack, _ := evidenceLast(e)
	return []KnownAttack{{ID: id, Attack: attack}}, nil
}
