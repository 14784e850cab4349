package main

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wafbot/wafbot/internal/clock"
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

// clockOffsets are how far the clocks that wafbot goes by are ahead of this machine's.
func (a *app) clockOffsets() []prometheus.Collector {
	gauge := func(against string, offset func(clock.Offsets) (d time.Duration, known bool)) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "wafbot", Name: "clock_offset_seconds", ConstLabels: prometheus.Labels{"against": against},
			Help: "How far a clock is ahead of this machine's: Redis', and of the services' the one that is farthest from it. NaN: it was not read yet.",
		}, func() float64 {
			d, known := offset(a.clocks.Offsets())
			if !known {
				return math.NaN()
			}
			return d.Seconds()
		})
	}
	return []prometheus.Collector{
		gauge("redis", func(o clock.Offsets) (time.Duration, bool) { return o.Redis, o.RedisKnown }),
		gauge("service", func(o clock.Offsets) (time.Duration, bool) {
			account, d := o.Farthest()
			return d, account != ""
		}),
	}
}
