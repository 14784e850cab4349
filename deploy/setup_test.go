//go:build image

package deploy

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// setup is what compose.yaml or the chart makes of the image, in the emulated world.
type setup struct {
	bot    service
	env    map[string]string
	probes []string // paths
	mounts []mount
}

func composeSetup(t *testing.T, i image, world map[string]string) setup {
	t.Helper()
	s := compose(t).Services["wafbot"]
	example, err := os.ReadFile(s.EnvFile + ".example")
	require.NoError(t, err)
	env := i.environment()
	for _, line := range assignment.FindAllStringSubmatch(string(example), -1) {
		if line[1] == "" {
			env[line[2]] = line[3]
		}
	}
	maps.Copy(env, world)
	maps.Copy(env, s.Environment)
	return setup{bot: s, env: env, probes: []string{"/healthz", "/readyz"}}
}

// chartSetup is the chart's pod with the values of that name, whose Secrets hold what the emulated world gives out.
func chartSetup(t *testing.T, i image, name string, world map[string]string) setup {
	t.Helper()
	all := rendered(t, name)
	pod, c := all.pod(t, "Deployment", "wafbot")
	env := i.environment()
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	env["SLACK_API"], env["SERVICE_API"] = world["WAFBOT_SLACK_API_URL"], world["WAFBOT_API_URL"]
	secrets := map[string]string{
		"bot-token": world["WAFBOT_SLACK_BOT_TOKEN"], "app-token": world["WAFBOT_SLACK_APP_TOKEN"], "signing-secret": world["WAFBOT_SLACK_SIGNING_SECRET"],
		"redis-url": "redis://redis:6379/0", "acme": world["WAFBOT_API_TOKEN"] + "\n",
	}
	s := setup{
		bot: service{
			Command: c.Args, User: pod.SecurityContext.User + ":" + pod.SecurityContext.Group, ReadOnly: c.SecurityContext.ReadOnly,
			StopGracePeriod: pod.toStop(c),
		},
		env:    env,
		probes: []string{c.Startup.HTTP.Path, c.Liveness.HTTP.Path, c.Readiness.HTTP.Path},
	}
	at := map[string]string{}
	for _, m := range c.Mounts {
		at[m.Name] = m.At
	}
	for _, v := range pod.Volumes {
		if v.Secret.Name != "" {
			mode, err := strconv.ParseUint(v.Secret.Mode, 0, 9)
			require.NoError(t, err)
			s.mounts = append(s.mounts, mount{at[v.Name], os.FileMode(mode), secrets})
			continue
		}
		s.mounts = append(s.mounts, mount{at[v.Name], 0o644, all.get(t, "ConfigMap", v.ConfigMap.Name).Data})
	}
	return s
}

// mount is a folder of files in a container.
type mount struct {
	at    string
	mode  os.FileMode
	files map[string]string
}

// lay writes the files as the kubelet does, for the image's group: behind a link that is changed when all files have.
func (m mount) lay(t *testing.T, i image) {
	t.Helper()
	const version = "..2026_01_02_03_04_05"
	folder := filepath.Join(i.root, m.at)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, version), 0o755))
	require.NoError(t, os.Symlink(version, filepath.Join(folder, "..data")))
	_, group, _ := strings.Cut(i.config.User, ":")
	for name, text := range m.files {
		file := filepath.Join(folder, version, name)
		require.NoError(t, os.WriteFile(file, []byte(text), m.mode))
		require.NoError(t, os.Chown(file, 0, int(number(t, group))))
		require.NoError(t, os.Symlink(path.Join("..data", name), filepath.Join(folder, name)))
	}
}
