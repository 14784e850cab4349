package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// peopleFor is how long a mark is stored: longer than what was known before it is used.
const peopleFor = 10 * time.Minute

// PeopleMark is a word that changes when what is known of a user, or of another thing of the workspace, is outdated; "" when it didn't change
// lately.
func (s *People) PeopleMark(ctx context.Context, of string) (string, error) {
	mark, err := s.rdb.Get(ctx, keyPeople(of)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read mark of %s: %w", of, err)
	}
	return mark, nil
}

// PeopleChanged changes that word, for all replicas.
func (s *People) PeopleChanged(ctx context.Context, of string) error {
	if err := s.rdb.Set(ctx, keyPeople(of), rand.Text(), peopleFor).Err(); err != nil {
		return fmt.Errorf("mark %s as changed: %w", of, err)
	}
	return nil
}
