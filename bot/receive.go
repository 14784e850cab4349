package bot

import "context"

// Receive takes what Slack sends over Socket Mode until the context ends. It returns at once when there is no app token, and with an error
// when Slack refuses the token from the beginning, in a way that trying again won't change.
func (b *Bot) Receive(ctx context.Context) error { return b.socket.Receive(ctx) }

// SayScopes logs what is lost for each scope that the token lacks, as soon as Slack tells. It returns then, or when the context ends.
func (b *Bot) SayScopes(ctx context.Context) { b.cfg.Slack.LogMissingScopes(ctx) }

// Work carries out what was accepted: one request after another in each account, the accounts side by side. It begins nothing more when more
// ends, and returns when what is in hand is done, or held ends.
func (b *Bot) Work(held, more context.Context) error { return b.worker.run(held, more) }
