// Command wafbot brings attacks to Slack and carries out what people decide there.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit codes of the contract.
const (
	exitDone   = 0
	exitFailed = 1 // failed, refused, waiting
	exitUsage  = 2 // wrong usage, a bad config, or a question without terminal and without -y
)

// terminal is what main takes from the operating system and hands down.
type terminal struct {
	args    []string
	environ []string
	in      *os.File
	out     io.Writer
	err     io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, terminal{args: os.Args[1:], environ: os.Environ(), in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// programs are the commands that run until they are stopped. Every other word is a line of the grammar.
type programs struct {
	Demo    demoCmd    `cmd:"" help:"The whole thing in an emulated world on loopback: open the printed address."`
	Sandbox sandboxCmd `cmd:"" help:"The emulated world alone; prints the environment that points a bot at it."`
	Serve   serveCmd   `cmd:"" help:"The bot."`
}

// run does what the arguments say and returns the exit code.
func run(ctx context.Context, t terminal) int {
	if len(t.args) == 0 || t.args[0] == "-h" || t.args[0] == "--help" {
		fmt.Fprint(t.err, usageText)
		if len(t.args) == 0 {
			return exitUsage
		}
		return exitDone
	}
	switch t.args[0] {
	case "demo", "sandbox", "serve":
		return runProgram(ctx, t)
	}
	return runLine(ctx, t)
}

const usageText = `wafbot brings attacks to Slack and carries out what people decide there.

  wafbot demo                     the whole thing in an emulated world: open the printed address
  wafbot sandbox [--deliver URL]  the emulated world alone; prints the environment for a bot
  wafbot serve [--config FILE]    the bot
  wafbot help                     the commands below, each with its arguments
  wafbot VERB … [--config FILE] [account=NAME] [--json] [-y]
                                  any command of the bot: status, attacks, deny, undo, audit, …

wafbot demo --help, serve --help and sandbox --help tell their options.
`

// exit is how kong's wish to leave travels out of its parser.
type exit int

func runProgram(ctx context.Context, t terminal) (code int) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case exit:
			code = int(p)
		default:
			panic(p)
		}
	}()
	var cli programs
	parser, err := kong.New(&cli, kong.Name("wafbot"), kong.Writers(t.err, t.err), kong.Exit(func(code int) { panic(exit(code)) }))
	if err != nil {
		fmt.Fprintln(t.err, "wafbot:", err)
		return exitUsage
	}
	cmd, err := parser.Parse(t.args)
	if err != nil {
		fmt.Fprintf(t.err, "wafbot: %v; see wafbot %s --help\n", err, t.args[0])
		return exitUsage
	}
	log := slog.New(slog.NewTextHandler(t.err, nil))
	cmd.BindTo(ctx, (*context.Context)(nil))
	err = cmd.Run(&t, log)
	var bad *configError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return exitDone
	case errors.As(err, &bad):
		fmt.Fprintln(t.err, err)
		return exitUsage
	}
	fmt.Fprintln(t.err, "wafbot:", err)
	return exitFailed
}
