package verb

import (
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

func writeNote(c *call.Call, t *record.Triage) (call.Result, error) {
	id, err := addNote(c, t, c.Line.Words[0])
	if err != nil {
		return call.Result{}, err
	}
	i := slices.IndexFunc(t.Notes, func(n record.Note) bool { return n.ID == id })
	return saved(*t, words.Note(t.Notes[i])), nil
}
