package norace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/norace"
)

func TestDefer(t *testing.T) {
	folder, err := os.Getwd()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "deferred")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	ran := false
	t.Setenv("TESTS_WITHOUT_RACE", file)
	t.Run("deferred", func(t *testing.T) {
		norace.Defer(t)
		ran = true
	})
	require.False(t, ran)
	lines, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, folder+"\tTestDefer/deferred\n", string(lines))

	t.Setenv("TESTS_WITHOUT_RACE", "")
	t.Run("at once", func(t *testing.T) {
		norace.Defer(t)
		ran = true
	})
	require.True(t, ran)
}
