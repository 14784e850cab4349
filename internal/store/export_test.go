package store

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// AddHook lets tests watch what is sent.
func (s *Store) AddHook(h redis.Hook) { s.rdb.AddHook(h) }

// OpenDialling is a Store that reaches a single Redis so.
func OpenDialling(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *Store {
	return open(Config{}, &redis.UniversalOptions{Addrs: []string{"redis"}, Dialer: dial})
}

// Held is the context of a lease that is surely held until then.
func Held(ctx context.Context, until time.Time) (held context.Context, end func()) {
	l := newLease("lease", time.Second)
	return l.begin(ctx, until), func() { l.end(context.Canceled) }
}
