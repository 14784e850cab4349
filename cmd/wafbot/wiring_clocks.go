package main

import (
	"context"
	"time"
)

// watchClocks logs once when clocks become wrong, and once when all agree again. It returns when the context ends.
func (a *app) watchClocks(ctx context.Context) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for before := ""; ; {
		switch apart := a.clocks.Offsets().Apart(); {
		case apart == before:
		case apart == "":
			a.log.Info("clocks agree again")
			before = ""
		default:
			a.log.Warn("clocks don't agree", "which", apart, "why", a.clocks.Trouble())
			before = apart
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}
