package bot

import (
	"context"
	"errors"
	"slices"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
)

// drawHome draws a Home tab without an answer, and tries once.
func (a *answers) drawHome(ctx context.Context, req request) {
	if err := a.publishHome(ctx, req, nil); err != nil {
		a.cfg.Log.Warn("draw home tab", "user", req.Invocation.Actor.ID, "err", err)
	}
}

// publishHome draws the Home tab of who asks (views.publish), with an answer on top. The role is checked as for a typed status.
func (a *answers) publishHome(ctx context.Context, req request, answer []slack.Block) error {
	blocks := a.home(ctx, req)
	if len(answer) > 0 {
		blocks = slices.Concat(answer, []slack.Block{slack.NewDividerBlock()}, blocks)
	}
	view := slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: card.Renumber(blocks)}}
	return a.cfg.Slack.PublishHome(ctx, req.Invocation.Actor.ID, view)
}

// home are the blocks of a user's Home tab.
func (a *answers) home(ctx context.Context, req request) []slack.Block {
	inv := req.Invocation
	inv.Line, inv.Account = record.Line{Name: "status"}, ""
	res, err := a.cfg.Runner.Do(ctx, inv)
	if home, ok := res.Home.(*report.Home); err == nil && ok {
		return card.Home(*home)
	}
	text, ref := call.ForPeople(inv, err)
	if errors.Is(err, refusal.ErrDenied) {
		return card.HomeWithoutRole(inv.Actor.ID, text, a.cfg.Roles)
	}
	a.cfg.Log.Error("read home tab", "reference", ref, "user", inv.Actor.ID, "err", err)
	return card.HomeUnavailable(text)
}
