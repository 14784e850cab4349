package chaos

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var scaleProfiles = flag.String("scale.profiles", "", "where profiles of the replicas go, of processors and memory; empty: none are made")

// profiling is a file that the profiled program has beside its own: SIGUSR1 begins a profile, and the next one writes
// it.
const profiling = `package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
)

func init() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	create := func(kind string, n int) *os.File {
		f, err := os.Create(filepath.Join(os.Getenv("SCALE_PROFILES"), fmt.Sprintf("%s.%d.%d.pprof", kind, os.Getpid(), n)))
		if err != nil {
			panic(err)
		}
		return f
	}
	go func() {
		for n := 0; ; n++ {
			<-asked
			cpu := create("cpu", n)
			_ = pprof.StartCPUProfile(cpu)
			<-asked
			pprof.StopCPUProfile()
			_ = cpu.Close()
			runtime.GC()
			heap := create("heap", n)
			_ = pprof.WriteHeapProfile(heap)
			_ = heap.Close()
		}
	}()
}
`

// profiled builds the program, with profiles if they are wanted.
func profiled(t *testing.T) (binary string) {
	t.Helper()
	if *scaleProfiles == "" {
		return build(t)
	}
	t.Setenv("SCALE_PROFILES", *scaleProfiles)
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "profiling.go"), filepath.Join(dir, "overlay.json")
	beside, err := filepath.Abs("../../cmd/wafbot/profiling.go")
	require.NoError(t, err)
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{beside: source}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(source, []byte(profiling), 0o600))
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	return build(t, "-overlay", overlay)
}

// profile begins profiles of the replicas, or writes them.
func (s *scale) profile() {
	if *scaleProfiles == "" {
		return
	}
	for _, one := range s.replicas {
		one.process.signal(syscall.SIGUSR1)
	}
	pause(s.t.Context(), time.Second) // until they are begun, or written
}
