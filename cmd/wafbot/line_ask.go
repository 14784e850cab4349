package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
)

// confirm asks the question that stands in the way of a line; always says that it is asked in spite of -y. Without a
// terminal it refuses.
func (t terminal) confirm(ctx context.Context, o lineOptions, question error, always bool) (code int, yes bool) {
	words, _ := call.ForPeople(call.Invocation{}, question)
	asked := words.In(o.zone)
	if !t.asks {
		why := "There is no terminal to ask: add -y if that is what you want"
		if always {
			why = "This is asked in spite of -y, and there is no terminal to ask"
		}
		return t.answer(o, "asked", asked+"\n"+why+". Nothing was done", exitUsage), false
	}
	fmt.Fprintf(t.err, "%s\nDo it? [y/N] ", asked)
	switch strings.ToLower(t.readLine(ctx)) {
	case "y", "yes":
		return exitDone, true
	}
	return t.answer(o, "asked", "nothing was done", exitFailed), false
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
