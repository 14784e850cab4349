package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// drillEvent is the event that a drill began, or ended.
func drillEvent(d record.Drill, channel string) record.Event {
	id := "drill " + d.ID
	if !d.Waits() {
		id += " over"
	}
	return record.Event{ID: id, Account: d.Account, Kind: record.DrillChanged, Channel: channel, At: d.At, Payload: record.DrillFacts{Drill: d.ID}}
}

// handoverEvent is the event that the call's attack was handed over.
func handoverEvent(c *call.Call, to string) record.Event {
	return record.Event{
		ID: "handover " + c.ID, Account: c.Account.Name, Kind: record.HandedOver, Channel: c.Account.Channel, At: c.Now,
		Payload: record.Assignment{Attack: c.Attack.Attack, To: to},
	}
}

// takeOverEvent is the event that a person was put on all attacks of the account: one, however many they are.
func takeOverEvent(c *call.Call, t taken) record.Event {
	return record.Event{
		ID: "take over " + c.ID, Account: c.Account.Name, Kind: record.TookOver, Channel: c.Account.Channel, At: t.since,
		Payload: record.Assignment{To: t.to.ID},
	}
}
