package bot

import (
	"context"
	"net"
	"net/http"

	"github.com/wafbot/wafbot/bot/slackconn"
)

// lone is a bot behind a front and a door of its own. Its inbox is also its Redis, its stream and what shares its links, as far as the test has it be.
type lone struct {
	*Bot

	front *Front
}

func alone(cfg Config) *lone {
	b := New(cfg)
	redis, _ := cfg.Inbox.(Redis)
	stream, _ := cfg.Inbox.(Stream)
	return &lone{b, NewFront(FrontConfig{Redis: redis, Stream: stream, Metrics: b.cfg.Metrics, Log: b.cfg.Log, Clocks: b.cfg.Clocks}, b)}
}

func (l *lone) handler() http.Handler { return l.front.pages }

func (l *lone) Drain(ctx context.Context) { l.front.Drain(ctx) }

func (l *lone) Work(held, more context.Context) error { return l.front.Work(held, more) }

func (l *lone) Serve(ctx context.Context, listener net.Listener) error {
	l.front.door.Admit(l.front)
	return l.front.door.Serve(ctx, listener)
}

func (l *lone) Receive(ctx context.Context) error {
	share, _ := l.cfg.Inbox.(slackconn.Links)
	l.front.door.Admit(l.front)
	return l.front.door.Receive(ctx, Links{Slack: l.cfg.Slack, Share: share, Metrics: l.cfg.Metrics, Log: l.cfg.Log})
}
