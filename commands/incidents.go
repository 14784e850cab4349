package commands

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

func incidents() *Command {
	return &Command{
		Name: "incidents", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "the attacks that worked, the newest first",
		Args:    []Arg{{Name: "since", Help: "how far back: 24h", Read: readDuration}, argPage},
		Read: func(c *Call) (Result, error) {
			return c.readListing("incident", 24*time.Hour, apiclient.AttackFilter{IncidentsOnly: true})
		},
	}
}
