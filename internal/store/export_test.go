package store

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// OpenDialling is a Store that reaches a single Redis so.
func OpenDialling(cfg Config, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *Store {
	return open(cfg, &redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}, Dialer: dial})
}

// Shards are the numbers of all shards of the work, ShardOf that of a user.
func Shards() (all []int) {
	for n := range shards {
		all = append(all, firstShard+n)
	}
	return all
}

// ShardOf is the number of a user's shard.
func ShardOf(user string) int {
	in := &client{}
	in.shards = newShards(in)
	return in.shardOf(user).number
}

// Held is the context of a lease that is surely held until then.
func Held(ctx context.Context, until time.Time) (held context.Context, end func()) {
	l := newLease("lease", time.Second)
	return l.begin(ctx, until), func() { l.end(context.Canceled) }
}

// Renewal renews leases of accounts by their tokens, as their holders do, and says how many are held.
func Renewal(s *Store, tokens map[string]string) (renew func(ctx context.Context) int) {
	sh := &sharing{store: s.client, held: map[string]*owned{}}
	for account, token := range tokens {
		l := newLease(s.key(keyLease, account), time.Hour)
		l.token = token
		l.begin(context.Background(), time.Now().Add(time.Hour))
		sh.held[account] = &owned{lease: l, pending: make(chan Pending, 1)}
	}
	return func(ctx context.Context) (held int) {
		sh.renew(ctx)
		for _, t := range sh.held {
			if !t.lease.over() {
				held++
			}
		}
		return held
	}
}
