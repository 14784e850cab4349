package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
)

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
