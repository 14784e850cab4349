package verb

import (
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

func note() *call.Command {
	return &call.Command{
		Name: "note", Role: record.Responder,
		Summary: "write down what others should know about an attack",
		Args:    []call.Arg{{Name: "text", Object: true, Rest: true, Required: true, Help: "at most 500 characters", Kind: call.FieldLines}, argAttack},
		Example: "note \"type=xss was our own test\" attack=ak7q2m9xw",
		Needs:   call.Rounds{triageNeeds},
		Write:   onTriage(writeNote),
	}
}

func writeNote(c *call.Call, t *record.Triage) (call.Result, error) {
	id, err := addNote(c, t, c.Line.Words[0])
	if err != nil {
		return call.Result{}, err
	}
	i := slices.IndexFunc(t.Notes, func(n record.Note) bool { return n.ID == id })
	return saved(*t, words.Note(t.Notes[i])), nil
}
