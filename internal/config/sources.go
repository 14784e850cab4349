package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	statEvery    = time.Second // how often a source's file is checked for a change, at most
	unchangedFor = time.Second // how old a change must be: a file read while it is being written holds half of its ranges
)

// SourceFiles are the named sources, with the ranges that their files hold now. A file that can't be read keeps the
// ranges it was last read with.
type SourceFiles struct {
	log *slog.Logger

	mu      sync.Mutex
	checked time.Time
	all     []*sourceFile
}

// sourceFile is a named source.
type sourceFile struct {
	Source
	written []netip.Prefix // its ranges in the configuration
	version string         // size and time of the file when it was last read; "": read it again
}

// NewSourceFiles takes sources as they were when the configuration was read.
func NewSourceFiles(sources []Source, log *slog.Logger) *SourceFiles {
	f := &SourceFiles{log: log}
	for _, s := range sources {
		named := &sourceFile{Source: s, written: s.Ranges}
		named.Ranges, named.listed = slices.Concat(s.Ranges, s.listed), nil
		if s.File != "" {
			named.ReadAt = time.Now()
		}
		f.all = append(f.all, named)
	}
	return f
}

// Now are the sources as they are now. It reads files that changed.
func (f *SourceFiles) Now() []Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	check := time.Since(f.checked) >= statEvery
	if check {
		f.checked = time.Now()
	}
	var all []Source
	for _, s := range f.all {
		if check && s.File != "" {
			f.read(s)
		}
		all = append(all, s.Source)
	}
	return all
}

// Broken says what is wrong with the files, by the name of the source.
func (f *SourceFiles) Broken() map[string]string {
	wrong := map[string]string{}
	for _, s := range f.Now() {
		if s.Broken != "" {
			wrong[s.Name] = s.File + ": " + s.Broken
		}
	}
	return wrong
}

// read reads a source's file again if it changed. If the file can't be read, it keeps the ranges and logs the error
// once. The caller holds mu.
func (f *SourceFiles) read(s *sourceFile) {
	before := s.Source
	version, err := s.reread()
	if err != nil {
		why := err.Error()
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			why = path.Err.Error()
		}
		if s.Broken != why {
			f.log.Error("source can't be read: what it held before counts", "source", s.Name, "file", s.File, "since", s.ReadAt,
				"err", err)
		}
		s.Broken, s.version = why, ""
		return
	}
	if version == s.version {
		return
	}
	if before.Broken != "" || !slices.Equal(before.Ranges, s.Ranges) {
		f.log.Info("source read again", "source", s.Name, "file", s.File, "ranges", len(s.Ranges))
	}
	s.version, s.ReadAt, s.Broken = version, time.Now(), ""
}

// reread takes the file's ranges if it changed and all its lines are good, and says which version of it that is. It
// refuses a file that was emptied: the ranges must not lose their protection by mistake.
func (s *sourceFile) reread() (version string, err error) {
	info, err := os.Stat(s.File)
	if err != nil {
		return "", err
	}
	version = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	age := time.Since(info.ModTime())
	if version == s.version || age >= 0 && age < unchangedFor {
		return s.version, nil
	}
	text, err := readUpTo(s.File, maxFile)
	if err != nil {
		return "", err
	}
	ranges, bad := parseRanges(text)
	switch {
	case len(bad) > 0:
		return "", fmt.Errorf("line %d: %s", bad[0].line, bad[0].text)
	case len(ranges) == 0 && len(s.Ranges) > len(s.written):
		return "", errors.New("it is empty now; if that is meant, take it out of the configuration")
	}
	s.Ranges = slices.Concat(s.written, ranges)
	return version, nil
}
