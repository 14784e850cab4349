package verb

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// triageNeeds are the facts that onTriage needs.
func triageNeeds(c *call.Call) call.Needs { return call.Needs{Triage: c.AttackID()} }

// onTriage is the Write of a command that alters the triage of the call's attack. It saves the triage if the outcome is
// done.
func onTriage(alter func(c *call.Call, t *record.Triage) (call.Result, error)) func(*call.Call) (call.Result, error) {
	return func(c *call.Call) (call.Result, error) {
		t, err := c.Facts.Triage.Get()
		if err != nil {
			return call.Result{}, refusal.Away(err)
		}
		res, err := alter(c, &t)
		if res.Outcome == "done" {
			res.Saves.Triage = map[string]record.Triage{c.Attack.ID: t}
		}
		return res, err
	}
}

// owner is that user as the owner from now on, set by the one who asks.
func owner(c *call.Call, who record.Actor) *record.Owner {
	return &record.Owner{ID: who.ID, Team: who.Team, Name: who.Name, Since: c.Now, By: c.Actor}
}

// takeOver says how to take over an attack that another user is on.
func takeOver(c *call.Call) text.Text {
	line := record.Line{Name: "handover"}.With("attack", c.Attack.ID).With("to", "@me")
	return text.Newf("To take it over: `%v`", line.String())
}

// whatStands says what goes on after a verdict that an attack was none, and who has to end it.
func whatStands(c *call.Call, v record.Verdict) (lines text.Lines) {
	if v.Is == "real" {
		return nil
	}
	lines = text.Lines{text.New("No pager is called for it any more. No mitigation of it is in force")}
	if standing := words.InForce(c.Changes, c.Attack.ID, c.Now); len(standing) > 0 {
		undo := record.Line{Name: "undo"}.With("attack", c.Attack.ID)
		lines[0] = text.Newf("No pager is called for it any more. Still in force: %v. To undo them: `%v`",
			text.Enumerate(standing, call.ShortList, words.WithID), undo.String())
	}
	if c.Account.ConsoleURL != "" {
		lines.Add("The service doesn't know of it: mark it there, too, in the ",
			text.Link{Label: "console", URL: c.Account.ConsoleURL})
	}
	return lines
}

// noteAgain is for how long the same words of the same user are the same note: typed twice because the answer was slow,
// or delivered over two ways.
const noteAgain = time.Minute

// addNote adds a note to the triage, unless it is there already.
func addNote(c *call.Call, k *record.Triage, note string) (id string, err error) {
	note = strings.Join(strings.Fields(strings.ToValidUTF8(note, "")), " ")
	id = record.NoteID(c.Account.Name, c.ID)
	same := func(n record.Note) bool {
		return n.ID == id || n.Text == note && n.By.Is(c.Actor) && c.Now.Sub(n.At) < noteAgain
	}
	if i := slices.IndexFunc(k.Notes, same); i >= 0 {
		return k.Notes[i].ID, nil
	}
	switch n := utf8.RuneCountInString(note); {
	case n == 0:
		return "", c.Cmd.Misuse("Empty: the note")
	case n > words.MaxNote:
		return "", refusal.Usage("Too long: the note has %v characters: %v at most", n, words.MaxNote)
	case len(k.Notes) == words.MaxNotes:
		return "", refusal.Guarded("this attack has %v notes already, and no more are kept", words.MaxNotes)
	}
	k.Notes = append(k.Notes, record.Note{ID: id, By: c.Actor, At: c.Now, Text: note})
	return id, nil
}
