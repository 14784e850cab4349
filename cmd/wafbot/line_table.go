package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/wafbot/wafbot/internal/text"
)

// printLines prints an answer. Rows of a listing that follow one another are a table, whose columns are aligned.
func (t terminal) printLines(lines []text.Text, zone *time.Location) error {
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		var columns []string
		for _, cell := range l.Cells() {
			columns = append(columns, strings.TrimSpace(cell.In(zone)))
		}
		if len(columns) > 1 {
			fmt.Fprintln(table, strings.Join(columns, "\t"))
			continue
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(t.out, l.In(zone))
	}
	return table.Flush()
}
