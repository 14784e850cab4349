package bot

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// How many reads run at the same time, and how many may wait.
const (
	maxReads   = 32
	maxWaiting = 1024
)

// background runs reads after their requests were acknowledged.
type background struct {
	cfg      *Config
	overload prometheus.Counter
	open     chan struct{}
	waiting  atomic.Int64
	wg       sync.WaitGroup
}

// run runs a read when it is its turn. It returns false if too many wait.
func (r *background) run(read func()) bool {
	if r.waiting.Add(1) > maxWaiting {
		r.waiting.Add(-1)
		return false
	}
	r.wg.Go(func() {
		defer r.waiting.Add(-1)
		r.open <- struct{}{}
		defer func() { <-r.open }()
		read()
	})
	return true
}

func (r *background) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { r.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// readTimeout bounds a read and its answer.
const readTimeout = 90 * time.Second

// start continues a request after it was acknowledged.
func (r *background) start(req request, do func(ctx context.Context)) {
	started := r.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		do(ctx)
	})
	if !started {
		r.cfg.Log.Warn("too many requests at once", "user", req.Invocation.Actor.ID)
		r.overload.Inc()
	}
}

// once runs a read for a delivery that comes for the first time. If that is unknown, it runs, too.
func (r *background) once(req request, do func(ctx context.Context)) {
	r.start(req, func(ctx context.Context) {
		if fresh, err := r.cfg.Inbox.First(ctx, req.names...); fresh || err != nil {
			do(ctx)
		}
	})
}
