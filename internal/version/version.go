// Package version says which build of wafbot this is.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Set by the linker where there is no repository to read them from, or where the release's name differs from its tag.
// Each overrides what Go recorded.
//
//	go build -ldflags "-X github.com/wafbot/wafbot/internal/version.version=0.1.0 -X …/version.commit=4f2a… -X …/version.date=2026-11-25T18:00:00Z"
var version, commit, date string

// Info is a build of wafbot.
type Info struct {
	Version string // as 0.1.0, without a v; (devel): built outside a repository
	Commit  string // the whole hash, with -dirty after it if files differed; "": unknown
	Date    string // of the commit, RFC 3339; "": unknown
	Go      string // as go1.26.0
}

// Get reads what the linker set, and what Go recorded in the program of the repository that it was built in.
func Get() Info {
	recorded, _ := debug.ReadBuildInfo()
	return of(recorded)
}

func of(recorded *debug.BuildInfo) Info {
	found := Info{Version: "(devel)", Go: runtime.Version()}
	if recorded != nil {
		settings := map[string]string{}
		for _, s := range recorded.Settings {
			settings[s.Key] = s.Value
		}
		found.Version = cmp.Or(strings.TrimPrefix(recorded.Main.Version, "v"), found.Version)
		found.Commit, found.Date = settings["vcs.revision"], settings["vcs.time"]
		if settings["vcs.modified"] == "true" {
			found.Commit += "-dirty"
		}
	}
	return Info{Version: cmp.Or(version, found.Version), Commit: cmp.Or(commit, found.Commit),
		Date: cmp.Or(date, found.Date), Go: found.Go}
}

// String is the build in one line.
func (i Info) String() string {
	return fmt.Sprintf("wafbot %s (commit %s, %s, %s)", i.Version, cmp.Or(i.Commit, "unknown"),
		cmp.Or(i.Date, "date unknown"), i.Go)
}
