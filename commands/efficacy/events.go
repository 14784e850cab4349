package efficacy

import (
	"fmt"

	"github.com/wafbot/wafbot/internal/record"
)

// judgedEvents are the events that a mitigation does not work though it should, or that what it denied came back, each time once.
func judgedEvents(j Judgement, channel string) []record.Event {
	if !j.Notify {
		return nil
	}
	kind := record.MitigationNotWorking
	if j.Efficacy.Finding == record.SourceReturned {
		kind = record.DeniedSourceReturned
	}
	id := fmt.Sprintf("%s:%s", j.Change.ID, kind)
	if calls := j.Efficacy.Calls(j.Efficacy.Finding); calls > 1 {
		id = fmt.Sprintf("%s:%d", id, calls)
	}
	return []record.Event{{ID: id, Account: j.Change.Account, Kind: kind, Channel: channel, At: j.Efficacy.At, Payload: record.ChangeFacts{Change: j.Change.ID}}}
}
