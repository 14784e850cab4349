package poller

import (
	"context"

	"github.com/wafbot/wafbot/internal/record"
)

// Store holds what an account's poller has decided, so that another replica can go on from there. An interface
// because tests need one that fails before it writes, or after.
type Store interface {
	// Load reads all that is stored of an account; zero when there is nothing. The poller empties what it was given.
	Load(ctx context.Context, account string) (record.PollState, error)
	// Waiting are the events that people have yet to be notified of.
	Waiting(ctx context.Context, account string) ([]record.Event, error)
	// Save stores an update in one transaction: people will be notified of its events, by this replica or another.
	Save(ctx context.Context, account string, u record.PollUpdate) error
}
