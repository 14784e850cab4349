package efficacy

import (
	"fmt"

	"github.com/wafbot/wafbot/internal/record"
)

// judgedEvents are the events that a mitigation does not work though it should, or that what it denied came back, each time once.
func judgedEvents(j Judged, channel string) []record.Event {
	if !j.Tell {
		return nil
	}
	kind := record.MitigationNotWorking
	if j.Effect.Finding == record.SourceReturned {
		kind = record.DeniedSourceReturned
	}
	id := fmt.Sprintf("%s:%s", j.Change.ID, kind)
	if calls := j.Effect.Calls(j.Effect.Finding); calls > 1 {
		id = fmt.Sprintf("%s:%d", id, calls)
	}
	return []record.Event{{ID: id, Account: j.Change.Account, Kind: kind, Channel: channel, At: j.Effect.At, Payload: record.ChangeFacts{Change: j.Change.ID}}}
}
