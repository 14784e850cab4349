// Package wrongclock compiles wafbot as it is shipped, but with a time.Now that can be wrong, for tests.
package wrongclock

import (
	"bytes"
	_ "embed" // the file that goes into package time
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Variable says how wrong the clock is of a program that was compiled with Flags. Left out it is right; every other
// program disregards it.
const Variable = "TEST_CLOCK"

//go:embed wrongclock.txt
var added []byte

// Flags are those of go build with which a program's clock can be wrong.
func Flags(t testing.TB) []string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(source, "time.go"))
	require.NoError(t, err)
	const reads = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	require.Equal(t, 1, bytes.Count(text, []byte(reads)),
		"time.Now is another one in this version of Go: look where it reads the clock")
	dir := t.TempDir()
	now, wrong, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "wrongclock.go"),
		filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(now, bytes.Replace(text, []byte(reads), []byte(reads+"\tsec += wrongBy(mono)\n"),
		1), 0o600))
	require.NoError(t, os.WriteFile(wrong, added, 0o600))
	files, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(source, "time.go"): now, filepath.Join(source, "wrongclock.go"): wrong,
	}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, files, 0o600))
	return []string{"-overlay", overlay}
}
