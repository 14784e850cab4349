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

// drawHome draws a Home tab without an answer on top, if that works at once.
func (a *answers) drawHome(ctx context.Context, req request) {
	if err := a.publishHome(ctx, req, nil); err != nil {
		a.cfg.Log.Warn("draw home tab", "user", req.Invocation.Actor.ID, "err", err)
	}
}

// publishHome draws the Home tab of the one who asks (views.publish), with an answer on top. His role is checked as if he had typed status, of
// which the tab shows what it shows.
func (a *answers) publishHome(ctx context.Context, req request, answer []slack.Block) error {
	blocks := a.home(ctx, req)
	if len(answer) > 0 {
		blocks = slices.Concat(answer, []slack.Block{slack.NewDividerBlock()}, blocks)
	}
	view := slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: card.Renumber(blocks)}}
	return a.cfg.Slack.PublishHome(ctx, req.Invocation.Actor.ID, view)
}

// home is what a person's Home tab shows, whatever he clicked.
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
	a.cfg.Log.Error("look for home tab", "reference", ref, "user", inv.Actor.ID, "err", err)
	return card.HomeUnavailable(text)
}
