package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/wafbot/wafbot/commands/call"
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

// confirm asks the question that stands in the way of a line, and is exitDone if the answer is yes; always says that it
// is asked in spite of -y. Without a terminal it refuses.
func (l typedLine) confirm(ctx context.Context, question error, always bool) int {
	words, _ := call.ForPeople(call.Invocation{}, question)
	asked := words.In(l.zone)
	if !l.asks {
		why := "There is no terminal to ask: add -y if that is what you want"
		if always {
			why = "This is asked in spite of -y, and there is no terminal to ask"
		}
		return l.answer("asked", asked+"\n"+why+". Nothing was done", exitUsage)
	}
	fmt.Fprintf(l.err, "%s\nDo it? [y/N] ", asked)
	switch strings.ToLower(l.readLine(ctx)) {
	case "y", "yes":
		return exitDone
	}
	return l.answer("asked", "nothing was done", exitFailed)
}

// readLine reads a typed line until the context ends. The read itself can't be cancelled: it ends with the process.
func (t terminal) readLine(ctx context.Context) string {
	typed := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(t.in).ReadString('\n')
		typed <- strings.TrimSpace(text)
	}()
	select {
	case text := <-typed:
		return text
	case <-ctx.Done():
		fmt.Fprintln(t.err)
		return ""
	}
}
