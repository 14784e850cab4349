package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Run serves the world and plays its traffic until ctx ends, which is no error; then it closes
// everything and leaves no goroutine behind. A world runs once.
func (w *World) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer w.redis.Close()
	if !w.cfg.Quiet {
		if err := w.open(); err != nil {
			w.listener.Close()
			return err
		}
	}
	server := &http.Server{
		Handler:           w.handler,
		ReadHeaderTimeout: 10 * time.Second,
		// Streams of events and hung requests end with the world.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	var running sync.WaitGroup
	running.Go(func() { w.playTraffic(ctx) })
	running.Go(func() { w.direct(ctx) })
	running.Go(func() {
		<-ctx.Done()
		shutdown(server)
	})
	err := server.Serve(w.listener)
	stop()
	running.Wait()
	w.Slack.Close()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the emulated world: %w", err)
	}
	return nil
}

// shutdown gives requests a second to finish and then closes the connections.
func shutdown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // the process ends anyway
	}
}
