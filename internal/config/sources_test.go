package config_test

import (
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
)

// listFile is a source's file that is edited while the bot runs. The test's bubble has its clock.
type listFile struct {
	t     *testing.T
	path  string
	log   bytes.Buffer
	files *config.SourceFiles
}

func newListFile(t *testing.T, text string) *listFile {
	t.Helper()
	l := &listFile{t: t, path: filepath.Join(t.TempDir(), "cdn.txt")}
	l.write(text)
	cfg, err := config.Load(write(t, "accounts: [{name: acme, api_url: 'http://192.0.2.1', token: x, channel: C1}]\n"+
		"sources: [{name: our CDN, ranges: [192.0.2.0/24], file: "+l.path+"}, {name: lab, ranges: [203.0.113.0/28], cards: false}]\n"), nil)
	require.NoError(t, err)
	l.files = config.NewSourceFiles(cfg.Sources, slog.New(slog.NewTextHandler(&l.log, nil)))
	return l
}

func (l *listFile) write(text string) {
	l.t.Helper()
	require.NoError(l.t, os.WriteFile(l.path, []byte(text), 0o600))
	require.NoError(l.t, os.Chtimes(l.path, time.Now(), time.Now()))
}

// holds expects that an address is the CDN's, or isn't.
func (l *listFile) holds(addr string, want bool) {
	l.t.Helper()
	own, ok := policy.Policy{Sources: l.files.Now}.SourceOf(apiclient.Source{IP: netip.MustParseAddr(addr)})
	require.Equal(l.t, want, ok, addr)
	if ok {
		require.Equal(l.t, "our CDN", own.Name)
	}
}

func TestASourcesFileIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, readAgain)
}

func readAgain(t *testing.T) {
	l := newListFile(t, "198.51.100.1 # the first\n")
	l.holds("192.0.2.7", true)
	l.holds("198.51.100.1", true)
	time.Sleep(time.Minute)
	l.write("198.51.100.2\n\n2001:db8::/64\n")
	l.holds("198.51.100.2", false)
	time.Sleep(900 * time.Millisecond)
	l.holds("198.51.100.2", false)
	time.Sleep(time.Second)
	for _, addr := range []string{"198.51.100.2", "2001:db8::1", "192.0.2.7"} {
		l.holds(addr, true)
	}
	l.holds("198.51.100.1", false)
	time.Sleep(time.Minute)
	l.write("\ufeff198.51.100.3\r\n::ffff:198.51.100.4 # as Windows writes it\r\n")
	time.Sleep(2 * time.Second)
	l.holds("198.51.100.3", true)
	l.holds("198.51.100.4", true)
	require.Contains(t, l.log.String(), "source read again")
	require.Equal(t, time.Now(), l.files.Now()[0].ReadAt)
	require.False(t, l.files.Now()[1].Cards)
}

// Whatever happens to the file, what was last good counts, and it is said once.
func TestABrokenFileKeepsWhatWasGood(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		breaks func(l *listFile)
		says   string
	}{
		"a bad line": {func(l *listFile) { l.write("198.51.100.7\nour office\n") }, "line 2"},
		"emptied":    {func(l *listFile) { l.write("# nothing\n") }, "it is empty now"},
		"gone":       {func(l *listFile) { require.NoError(l.t, os.Remove(l.path)) }, "no such file"},
		"a folder": {func(l *listFile) {
			require.NoError(l.t, os.Remove(l.path))
			require.NoError(l.t, os.Mkdir(l.path, 0o700))
			require.NoError(l.t, os.Chtimes(l.path, time.Now(), time.Now()))
		}, "is a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { keeps(t, tt.breaks, tt.says) })
		})
	}
}

func keeps(t *testing.T, breaks func(l *listFile), says string) {
	l := newListFile(t, "198.51.100.1\n")
	time.Sleep(time.Minute)
	l.holds("198.51.100.1", true)
	require.Empty(t, l.files.Broken())
	breaks(l)
	for range 5 {
		time.Sleep(2 * time.Second)
		l.holds("198.51.100.1", true)
		l.holds("198.51.100.7", false)
	}
	require.Contains(t, l.files.Broken()["our CDN"], says)
	require.Contains(t, l.files.Broken()["our CDN"], l.path)
	require.Equal(t, 1, strings.Count(l.log.String(), "can't be read"))
	require.NoError(t, os.RemoveAll(l.path))
	l.write("198.51.100.7\n")
	time.Sleep(2 * time.Second)
	l.holds("198.51.100.7", true)
	require.Empty(t, l.files.Broken())
	require.Contains(t, l.log.String(), "source read again")
}

// At the start a file must be good: there are no earlier ranges to keep.
func TestASourcesFileMustBeGoodAtTheStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cdn.txt")
	start := func() error {
		_, err := config.Load(write(t, "accounts: [{name: acme, api_url: 'http://192.0.2.1', token: x, channel: C1}]\nsources: [{name: our CDN, file: "+path+"}]\n"), nil)
		return err
	}
	require.ErrorContains(t, start(), "no such file")
	require.NotContains(t, start().Error(), "names no address", "said once")
	require.NoError(t, os.WriteFile(path, []byte("# nothing yet\n"), 0o600))
	require.ErrorContains(t, start(), ":2:33: sources[0].file: "+path+" holds no address; write them there")
	require.NoError(t, os.WriteFile(path, []byte("192.0.2.1\nx\n"), 0o600))
	require.ErrorContains(t, start(), path+":2")
	require.NoError(t, os.WriteFile(path, []byte("192.0.2.1\n"), 0o600))
	require.NoError(t, start())
}
