package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/wafbot/wafbot/internal/text"
)

// stream prints items as lines of JSON. It reports an item that can't be read, and continues.
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

// printLines prints an answer. Rows of a listing that follow one another are a table, whose columns are aligned.
func (l typedLine) printLines(lines []text.Text) error {
	table := tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		var columns []string
		for _, cell := range line.Cells() {
			columns = append(columns, strings.TrimSpace(cell.In(l.zone)))
		}
		if len(columns) > 1 {
			fmt.Fprintln(table, strings.Join(columns, "\t"))
			continue
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(l.out, line.In(l.zone))
	}
	return table.Flush()
}
