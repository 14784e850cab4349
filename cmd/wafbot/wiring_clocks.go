package main

import (
	"context"
	"time"
)

// watchClocks logs once when this machine's clock is off, and once when it is right again. It returns when the context ends.
func (a *app) watchClocks(ctx context.Context) {
	before := false
	every(ctx, time.Second, func() {
		off := a.clocks.Offsets().Off()
		switch {
		case off != 0 && !before:
			a.log.Warn("this machine's clock and redis' are apart: set them (NTP)", "ahead", off.Round(time.Second))
		case off == 0 && before:
			a.log.Info("this machine's clock and redis' agree again")
		}
		before = off != 0
	})
}
