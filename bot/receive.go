package bot

import "context"

// Receive receives over Socket Mode until the context ends. It returns at once if there is no app token, and with an error if Slack refuses the
// token for good from the beginning.
func (b *Bot) Receive(ctx context.Context) error { return b.socket.Receive(ctx) }

// LogMissingScopes logs for each scope that the token lacks what doesn't work without it.
func (b *Bot) LogMissingScopes(ctx context.Context) { b.cfg.Slack.LogMissingScopes(ctx) }

// Work carries out stored requests: one after another in each account, accounts side by side. It begins no request after more has ended, and
// returns when those in progress are done, or held ends.
func (b *Bot) Work(held, more context.Context) error { return b.worker.run(held, more) }
