package verb

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func note() *call.Command {
	return &call.Command{
		Name: "note", Role: record.Responder,
		Summary: "write down what others should know about an attack",
		Args:    []call.Arg{{Name: "text", Object: true, Rest: true, Required: true, Help: "at most 500 characters", Kind: call.FieldLines}, argAttack},
		Example: `note "type=xss was our own test"`,
		Write:   writeNote,
	}
}

func writeNote(c *call.Call) (call.Result, error) {
	k, err := triageOf(c)
	if err != nil {
		return call.Result{}, err
	}
	id, err := addNote(c, &k, c.Line.Words[0])
	if err != nil {
		return call.Result{}, err
	}
	i := slices.IndexFunc(k.Notes, func(n record.Note) bool { return n.ID == id })
	return saveTriage(c, k, "", describe.Note(k.Notes[i]))
}

// noteAgain is for how long the same words of the same user are the same note: typed twice because the answer was slow, or delivered over two ways.
const noteAgain = time.Minute

// addNote adds a note to the triage, unless it is there already.
func addNote(c *call.Call, k *record.Triage, words string) (id string, err error) {
	words = strings.Join(strings.Fields(strings.ToValidUTF8(words, "")), " ")
	id = record.NoteID(c.Account.Name, c.ID)
	n := utf8.RuneCountInString(words)
	same := func(n record.Note) bool {
		return n.ID == id || n.Text == words && n.By.ID == c.Actor.ID && c.Now.Sub(n.At) < noteAgain
	}
	if i := slices.IndexFunc(k.Notes, same); i >= 0 {
		return k.Notes[i].ID, nil
	}
	switch {
	case n == 0:
		return "", c.Cmd.Misuse(text.New("that note is empty"))
	case n > describe.MaxNote:
		return "", refusal.Usage(text.New("that note has ", n, " characters: ", describe.MaxNote, " at most. Nothing was noted"))
	case len(k.Notes) == describe.MaxNotes:
		return "", refusal.Guarded(text.New("this attack has ", describe.MaxNotes, " notes already, and no more are kept. Nothing was noted"))
	}
	k.Notes = append(k.Notes, record.Note{ID: id, By: c.Actor, At: c.Now, Text: words})
	return id, nil
}
