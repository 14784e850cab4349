package store

import "github.com/redis/go-redis/v9"

// AddHook lets tests watch what is sent.
func (s *Store) AddHook(h redis.Hook) { s.rdb.AddHook(h) }
