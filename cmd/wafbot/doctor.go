package main

import (
	"context"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
)

// doctorCmd checks whether everything that the bot needs is there.
type doctorCmd struct {
	Config  string `help:"The configuration file; left out: WAFBOT_CONFIG, else the environment alone." placeholder:"FILE"`
	Account string `help:"Check this account alone: its token, and what it may read." placeholder:"NAME"`
	JSON    bool   `name:"json" help:"Print for programs: {ok, findings: [{check, subject, state, text, fix}]}."`
	Post    bool   `help:"Post a test card to the channel of each route. It mentions no one."`
}

// Run prints the findings, the worst first. Its error is that something is wrong.
func (d *doctorCmd) Run(ctx context.Context, t *terminal) error {
	report, err := doctor.Run(ctx, doctor.Options{Config: d.Config, Environ: t.environ, Account: d.Account, Post: d.Post})
	if err != nil {
		return err
	}
	if d.JSON {
		t.printJSON(report, exitDone)
	} else {
		report.Print(t.out)
	}
	return report.Err()
}
