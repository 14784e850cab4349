package bot

import (
	"context"
	"errors"
	"slices"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// homeTab draws Home tabs.
type homeTab struct{ bot *Bot }

// homeOpened draws the Home tab of whoever has just opened it.
func (t *homeTab) homeOpened(d delivery, h happening) {
	if h.Event.Tab != "home" || h.Event.User == "" {
		return
	}
	req := request{
		Home: true, names: d.names,
		Invocation: commands.Invocation{
			ID: d.names[0], At: d.at, Actor: record.Actor{ID: h.Event.User, Name: h.Event.User, Via: record.ViaMention},
		},
	}
	if h.EventID != "" {
		req.names = append([]string{"event " + h.EventID}, req.names...)
	}
	t.refreshHome(req)
}

// refreshHome draws a Home tab for somebody who waits for it.
func (t *homeTab) refreshHome(req request) {
	t.bot.once(req, func(ctx context.Context) { t.bot.answer(ctx, req, card.Message{}) })
}

// drawHome draws a Home tab without an answer on top, if that works at once.
func (t *homeTab) drawHome(ctx context.Context, req request) {
	if err := t.publishHome(ctx, req, nil); err != nil {
		t.bot.cfg.Log.Warn("draw home tab", "user", req.Invocation.Actor.ID, "err", err)
	}
}

// publishHome draws the Home tab of the one who asks (views.publish), with an answer on top. His role is checked as if he had typed status, of
// which the tab shows what it shows.
func (t *homeTab) publishHome(ctx context.Context, req request, answer []slack.Block) error {
	blocks := t.home(ctx, req)
	if len(answer) > 0 {
		blocks = slices.Concat(answer, []slack.Block{slack.NewDividerBlock()}, blocks)
	}
	view := slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: card.Renumber(blocks)}}
	return t.bot.cfg.Slack.PublishHome(ctx, req.Invocation.Actor.ID, view)
}

// home is what a person's Home tab shows, whatever he clicked.
func (t *homeTab) home(ctx context.Context, req request) []slack.Block {
	inv := req.Invocation
	inv.Line, inv.Account = record.Line{Name: "status"}, ""
	res, err := t.bot.cfg.Runner.Do(ctx, inv)
	if err == nil && res.Home != nil {
		return card.Home(*res.Home)
	}
	text, ref := commands.ForPeople(inv, err)
	if errors.Is(err, refusal.ErrDenied) {
		return card.HomeWithoutRole(inv.Actor.ID, text, t.bot.cfg.Roles)
	}
	t.bot.cfg.Log.Error("look for home tab", "reference", ref, "user", inv.Actor.ID, "err", err)
	return card.HomeUnavailable(text)
}
