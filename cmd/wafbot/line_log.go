package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/wafbot/wafbot/internal/text"
)

// logs are files with audit entries that wafbot printed, read one after another.
type logs []io.ReadCloser

// open opens files with audit entries; - is standard input.
func (t terminal) open(names []string) (all logs, err error) {
	for _, name := range names {
		if name == "-" {
			all = append(all, io.NopCloser(t.in))
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, errors.Join(misused{fmt.Errorf("read log: %w", err)}, all.Close())
		}
		all = append(all, f)
	}
	return all, nil
}

// reader reads all of them as one. Each begins on a line of its own. It is nil if there are none.
func (l logs) reader() io.Reader {
	if len(l) == 0 {
		return nil
	}
	var all []io.Reader
	for _, f := range l {
		all = append(all, f, strings.NewReader("\n")) // the last line of one may have no end
	}
	return io.MultiReader(all...)
}

// Close closes them.
func (l logs) Close() error {
	var faults []error
	for _, f := range l {
		faults = append(faults, f.Close())
	}
	return errors.Join(faults...)
}

// stream prints items as lines of JSON. It reports an item that can't be read and goes on.
func (t terminal) stream(items iter.Seq2[any, error]) int {
	code, out := exitDone, bufio.NewWriter(t.out)
	for item, err := range items {
		if err != nil {
			t.complain(err)
			code = exitFailed
			continue
		}
		line, err := json.Marshal(item)
		if err != nil {
			return t.fail(fmt.Errorf("write entry: %w", err))
		}
		if _, err := fmt.Fprintf(out, "%s\n", text.SanitizeJSON(line)); err != nil {
			break // the reader is gone: Flush returns the error
		}
	}
	if err := out.Flush(); err != nil {
		return t.fail(fmt.Errorf("print: %w", err))
	}
	return code
}
