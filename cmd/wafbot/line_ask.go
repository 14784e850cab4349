package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
)

// ask shows what would be done and asks for a yes. Without a terminal it refuses.
func (t terminal) ask(ctx context.Context, a *app, o lineOptions, inv call.Invocation) (code int, yes bool) {
	inv.Ask = true
	res, err := a.runner.Do(ctx, inv)
	if err = a.forPeople(ctx, inv, err); err == nil {
		return t.show(o, res), false // nothing to do, or a dry run
	}
	if !errors.Is(err, refusal.ErrAsk) {
		return t.refuse(o, err), false
	}
	return t.confirm(ctx, o, err, false)
}

// confirm asks the question that stands in the way of a line; always says that it is asked in spite of -y.
func (t terminal) confirm(ctx context.Context, o lineOptions, question error, always bool) (code int, yes bool) {
	words, _ := call.ForPeople(call.Invocation{}, question)
	switch {
	case !t.asks && always:
		return t.answer(o, "asked", words.In(o.zone)+"\nThis is asked in spite of -y, and there is no terminal to ask. Nothing was done", exitUsage), false
	case !t.asks:
		return t.answer(o, "asked", words.In(o.zone)+"\nThere is no terminal to ask: add -y if that is what you want. Nothing was done", exitUsage), false
	}
	fmt.Fprintf(t.err, "%s\nDo it? [y/N] ", words.In(o.zone))
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(t.readLine(ctx))) {
		return t.answer(o, "asked", "nothing was done", exitFailed), false
	}
	return exitDone, true
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
