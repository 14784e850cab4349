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
	if asked := words.In(o.zone); t.asks {
		fmt.Fprintf(t.err, "%s\nDo it? [y/N] ", asked)
	} else if always {
		return t.answer(o, "asked", asked+"\nThis is asked in spite of -y, and there is no terminal to ask. Nothing was done",
			exitUsage), false
	} else {
		return t.answer(o, "asked", asked+"\nThere is no terminal to ask: add -y if that is what you want. Nothing was done",
			exitUsage), false
	}
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
