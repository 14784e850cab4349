package bot

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// How many answers are looked up at the same time, and how many may wait for their turn.
const (
	maxReads   = 32
	maxWaiting = 1024
)

// background looks answers up after their requests were acknowledged.
type background struct {
	cfg      *Config
	overload prometheus.Counter
	open     chan struct{}
	waiting  atomic.Int64
	wg       sync.WaitGroup
}

// run runs a read in the background, when it is its turn, or reports that far too many wait.
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

// readTimeout bounds looking an answer up and sending it.
const readTimeout = 90 * time.Second

// start goes on after the request was acknowledged.
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

// once does in the background what changes nothing, for a delivery that comes for the first time. Where that can't be told it is done, too.
func (r *background) once(req request, do func(ctx context.Context)) {
	r.start(req, func(ctx context.Context) {
		if fresh, err := r.cfg.Inbox.First(ctx, req.names...); fresh || err != nil {
			do(ctx)
		}
	})
}
