package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/commands"
)

// How often a source's file is looked at, at most; and how long it must have been left alone to be read: who looks while it is being written
// finds half of it.
const (
	lookEvery = time.Second
	leftAlone = time.Second
)

// sourceFiles are the named sources, those of files as the files are now. One that can't be read counts as it was last read well.
type sourceFiles struct {
	log   *slog.Logger
	clock func() time.Time

	mu     sync.Mutex
	looked time.Time
	all    []*sourceFile
}

// sourceFile is a named source.
type sourceFile struct {
	source commands.Source
	cfg    Source
	mark   string // of the file as it was read last; "": it is to be read again
}

func newSourceFiles(cfg *Config, log *slog.Logger) *sourceFiles {
	f := &sourceFiles{log: log, clock: time.Now}
	for _, s := range cfg.Sources {
		named := &sourceFile{cfg: s, source: commands.Source{Name: s.Name, Ranges: slices.Concat(s.Ranges, s.listed), Deny: s.Deny, NoCards: !s.Cards, File: s.File}}
		if s.File != "" {
			named.source.ReadAt = time.Now()
		}
		f.all = append(f.all, named)
	}
	return f
}

// now are the sources as they are now.
func (f *sourceFiles) now() []commands.Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	look := f.clock().Sub(f.looked) >= lookEvery
	if look {
		f.looked = f.clock()
	}
	var all []commands.Source
	for _, s := range f.all {
		if look && s.cfg.File != "" {
			f.read(s)
		}
		all = append(all, s.source)
	}
	return all
}

// broken says what is wrong with the files, by their sources' names.
func (f *sourceFiles) broken() map[string]string {
	wrong := map[string]string{}
	for _, s := range f.now() {
		if s.Broken != "" {
			wrong[s.Name] = s.File + ": " + s.Broken
		}
	}
	return wrong
}

// read reads a source's file again if it changed. The caller holds mu.
func (f *sourceFiles) read(s *sourceFile) {
	info, err := os.Stat(s.cfg.File)
	if err != nil {
		f.fail(s, err)
		return
	}
	mark := fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	age := f.clock().Sub(info.ModTime())
	if mark == s.mark || age >= 0 && age < leftAlone {
		return
	}
	before := s.source
	if err := s.reread(); err != nil {
		f.fail(s, err)
		return
	}
	if before.Broken != "" || !slices.Equal(before.Ranges, s.source.Ranges) {
		f.log.Info("source read again", "source", s.cfg.Name, "file", s.cfg.File, "ranges", len(s.source.Ranges))
	}
	s.mark, s.source.ReadAt, s.source.Broken = mark, f.clock(), ""
}

// reread takes what the file holds, if all of it is good. An emptied one isn't: who empties a list of what must not be denied hardly means it.
func (s *sourceFile) reread() error {
	text, err := readUpTo(s.cfg.File, maxSourceFile)
	if err != nil {
		return err
	}
	ranges, bad := parseRanges(text)
	switch {
	case len(bad) > 0:
		return fmt.Errorf("line %d: %s", bad[0].line, bad[0].text)
	case len(ranges) == 0 && len(s.source.Ranges) > len(s.cfg.Ranges):
		return errors.New("it is empty now; if that is meant, take it out of the configuration")
	}
	s.source.Ranges = slices.Concat(s.cfg.Ranges, ranges)
	return nil
}

// fail keeps what was read before, and says so once. The caller holds mu.
func (f *sourceFiles) fail(s *sourceFile, err error) {
	why := err.Error()
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		why = path.Err.Error()
	}
	if s.source.Broken != why {
		f.log.Error("source can't be read: what it held before counts", "source", s.cfg.Name, "file", s.cfg.File, "since", s.source.ReadAt, "err", err)
	}
	s.source.Broken, s.mark = why, ""
}
