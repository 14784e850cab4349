package bot

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logEvery is how often a warning is logged again that a flood repeats.
const logEvery = 5 * time.Second

// sampledLog logs what a flood repeats: a warning at once, then how often it came again in the next five seconds.
type sampledLog struct {
	log *slog.Logger

	mu   sync.Mutex
	more map[string]int // by words, how often it came again since it was logged
}

func newSampledLog(log *slog.Logger) *sampledLog {
	return &sampledLog{log: log, more: map[string]int{}}
}

// warn logs a warning. Its words are the cause, of which there are few; what differs is in the attributes.
func (s *sampledLog) warn(ctx context.Context, words string, attributes ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, lately := s.more[words]; lately {
		s.more[words] = n + 1
		return
	}
	s.more[words] = 0
	s.log.WarnContext(ctx, words, attributes...)
	time.AfterFunc(logEvery, func() { s.count(words) })
}

// count logs how often a warning came again.
func (s *sampledLog) count(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.more[words]; n > 0 {
		s.log.Warn(words, "more", n, "within", logEvery)
	}
	delete(s.more, words)
}
