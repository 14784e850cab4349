//go:build image

package deploy

import (
	"debug/buildinfo"
	"debug/elf"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheImageIsOneStaticBinaryForAnOrdinaryUser(t *testing.T) {
	i := openImage(t)
	files := i.files(t)
	require.Len(t, files, 1, "%v", files)
	t.Logf("the image holds %.1f MB", float64(files["/wafbot"])/1e6)
	require.Positive(t, files["/wafbot"])
	require.Less(t, files["/wafbot"], int64(40e6))
	require.Equal(t, "65532:65532", i.config.User)

	binary, err := elf.Open(filepath.Join(i.root, "wafbot"))
	require.NoError(t, err)
	defer binary.Close()
	libraries, err := binary.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
	require.False(t, slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }), "it wants a loader")
}

func TestCertificatesAndTimeZonesAreInTheBinary(t *testing.T) {
	i := openImage(t)
	info, err := buildinfo.ReadFile(filepath.Join(i.root, "wafbot"))
	require.NoError(t, err)
	modules := ""
	for _, m := range info.Deps {
		modules += m.Path + "\n"
	}
	require.Contains(t, modules, "golang.org/x/crypto/x509roots/fallback\n")

	config := filepath.Join(i.root, "wafbot.yaml")
	require.NoError(t, os.WriteFile(config, []byte("timezone: Europe/Berlin\n"), 0o644))
	t.Cleanup(func() { require.NoError(t, os.Remove(config)) })
	out, err := i.command(t, service{}, nil, "status", "--config", "/wafbot.yaml").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "accounts", "the only thing that is missing")
	require.NotContains(t, string(out), "timezone")
}

func TestTheImageSaysWhichBuildItIs(t *testing.T) {
	i := openImage(t)
	label := func(name string) string {
		value := i.config.Labels["org.opencontainers.image."+name]
		require.NotEmpty(t, value, name)
		return value
	}
	require.Equal(t, "https://github.com/wafbot/wafbot", label("source"))
	out, err := i.command(t, service{}, nil, "version").Output()
	require.NoError(t, err)
	require.Regexp(t, "^"+regexp.QuoteMeta("wafbot "+label("version")+" (commit "+label("revision")+", "+label("created")+", go"), string(out))
}

// redisOn is the compose file's Redis on a volume.
func redisOn(t *testing.T, s service, volume string) *process {
	t.Helper()
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir = volume
	p := start(t, cmd, "Ready to accept connections")
	probe := s.Healthcheck.Test
	require.Equal(t, "CMD", probe[0])
	out, err := exec.Command(probe[1], probe[2:]...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return p
}

// requireConfined checks the rights that the compose file takes from the service's processes.
func requireConfined(t *testing.T, p *process) {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "status"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^Uid:\s+65532\s+65532\s+65532\s+65532$`, string(status))
	require.Regexp(t, `(?m)^CapPrm:\s+0+$`, string(status))
	require.Regexp(t, `(?m)^CapEff:\s+0+$`, string(status))
}

// answers requests the bot's own pages, as probes do.
func answers(t *testing.T, url string) {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, "%s: %s", url, body)
}

func TestAnAttackIsDeniedAndKeptWithTheComposeFilesSettings(t *testing.T) {
	anAttackIsDeniedAndKept(t, false, composeSetup)
}

func TestAnAttackIsDeniedAndKeptWithTheChartsSettings(t *testing.T) {
	for name, socket := range map[string]bool{"http": false, "bundled": true} {
		t.Run(name, func(t *testing.T) {
			anAttackIsDeniedAndKept(t, socket, func(t *testing.T, i image, world map[string]string) setup { return chartSetup(t, i, name, world) })
		})
	}
}

// anAttackIsDeniedAndKept plays what must outlive bot and Redis. Slack delivers over Socket Mode, or HTTP.
func anAttackIsDeniedAndKept(t *testing.T, socket bool, settings func(*testing.T, image, map[string]string) setup) {
	const first, second = "198.51.100.201", "198.51.100.202"
	i, file, volume := openImage(t), compose(t), t.TempDir()
	addresses := file.addresses()
	addresses["wafbot-redis"] = addresses["redis"] // the chart's name for it
	address := "http://" + addresses["wafbot"] + ":8080"
	deliver := address
	if socket {
		deliver = ""
	}
	w := openWorld(t, i, deliver)
	s := settings(t, i, w.env)
	i.prepare(t, s, addresses)
	redis := redisOn(t, file.Services["redis"], volume)

	bot := start(t, i.command(t, s.bot, s.env), "listening")
	requireConfined(t, bot)
	w.attack(first)
	w.click(first, "Deny "+first, bot)
	w.until("denied", bot, func() bool { return w.denied(first) })
	for _, probe := range s.probes {
		answers(t, address+probe)
	}
	out, err := i.command(t, s.bot, s.env, "doctor").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = i.command(t, s.bot, s.env, "audit").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), first, "the terminal in the container sees what was done")
	require.NoError(t, bot.stop(syscall.SIGTERM, s.bot.StopGracePeriod))

	require.Error(t, redis.stop(syscall.SIGKILL, patience))
	redis = redisOn(t, file.Services["redis"], volume)
	w.attack(second)
	bot = start(t, i.command(t, s.bot, s.env), "listening")
	w.until("a card of "+second, bot, func() bool { return len(w.cards(second)) > 0 })
	require.Equal(t, 1, len(w.cards(first)), "posted again after the restart")
	seen := map[string]bool{}
	for _, m := range w.messages() {
		require.False(t, seen[m.Text], "posted twice: %s", m.Text)
		seen[m.Text] = true
	}
	w.click(first, "Undo…", bot)
	w.submit("Undo", bot)
	w.until("undone", bot, func() bool { return !w.denied(first) })
	require.NoError(t, bot.stop(syscall.SIGTERM, s.bot.StopGracePeriod))
	require.NoError(t, redis.stop(syscall.SIGTERM, patience))
}
