package main

import (
	"errors"
	"log/slog"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// boundMemory has garbage collected in time for the limit of the container (its cgroup), of which a tenth is left for what isn't Go's. Otherwise the heap grows
// to twice of what is live, and the kernel kills wafbot for garbage. GOMEMLIMIT in the environment wins.
func boundMemory(log *slog.Logger) {
	limit, err := memlimit.Set()
	switch {
	case errors.Is(err, memlimit.ErrCgroupsNotSupported), errors.Is(err, memlimit.ErrNoCgroup):
	case err != nil:
		log.Warn("memory limit of the container can't be read: set GOMEMLIMIT to nine tenths of it", "err", err)
	case limit < math.MaxInt64:
		log.Info("memory is limited", "bytes", limit)
	}
}
