package version

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
)

func TestWhatGoRecorded(t *testing.T) {
	t.Parallel()
	clean := &debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "4f2a"}, {Key: "vcs.time", Value: "2026-11-25T18:00:00Z"}, {Key: "vcs.modified", Value: "false"},
	}}
	require.Equal(t, Info{"0.1.0", "4f2a", "2026-11-25T18:00:00Z", runtime.Version()}, of(clean))
	changed := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "4f2a"}, {Key: "vcs.modified", Value: "true"}}}
	require.Equal(t, Info{"(devel)", "4f2a-dirty", "", runtime.Version()}, of(changed))
	require.Equal(t, "wafbot (devel) (commit unknown, date unknown, "+runtime.Version()+")", of(nil).String())
}

func TestTheLinkerOverridesIt(t *testing.T) {
	full.Only(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "prints")
	const here = "github.com/wafbot/wafbot/internal/version"
	build := exec.Command("go", "build", "-o", program, "-ldflags", "-X "+here+".version=9.8.7 -X "+here+".commit=c0ffee -X "+here+".date=2026-01-02T03:04:05Z", "./testdata/prints")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program).Output()
	require.NoError(t, err)
	require.Equal(t, "wafbot 9.8.7 (commit c0ffee, 2026-01-02T03:04:05Z, "+runtime.Version()+")\n", string(out))
}
