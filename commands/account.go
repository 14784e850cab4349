package commands

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
)

// Account is one tenant of the service.
type Account struct {
	Name         string
	Lookback     time.Duration // how far back attacks are listed
	OngoingFor   time.Duration // how long after its last hit an attack still counts as ongoing
	ConsoleURL   string        // for links; "" for none
	Applications map[int]Application
}

// Application is what the configuration says of an application.
type Application struct {
	Name        string
	CannotBlock bool // its nodes only watch: no denial, patch or mode stops anything
}

// app reads an application as typed: its id, its configured name, or app:default.
func (a *Account) app(typed string) (int, error) {
	if strings.EqualFold(typed, "app:default") {
		return apiclient.DefaultApp, nil
	}
	for _, id := range slices.Sorted(maps.Keys(a.Applications)) {
		if strings.EqualFold(a.Applications[id].Name, typed) {
			return id, nil
		}
	}
	id, err := strconv.Atoi(typed)
	if err != nil || id == 0 || id < apiclient.DefaultApp {
		var names []string
		for _, id := range slices.Sorted(maps.Keys(a.Applications)) {
			names = append(names, fmt.Sprintf("%s (%d)", a.Applications[id].Name, id))
		}
		return 0, refusal.Usage(text.New(text.Code(text.Sanitize(typed, text.MaxField)), " is no application of ", a.Name, ": write its number, or one of: ", strings.Join(append(names, "app:default"), ", ")))
	}
	return id, nil
}

// AppName is the application's name for people.
func (a *Account) AppName(app apiclient.Figure) string {
	if !app.Known {
		return "an unknown application"
	}
	if named := a.Applications[int(app.N)]; named.Name != "" {
		return named.Name
	}
	if app.N == apiclient.DefaultApp {
		return "the default application"
	}
	return fmt.Sprintf("application %d", app.N)
}

// appsText names the applications of a list entry.
func (a *Account) appsText(apps []int) string {
	if everywhere(apps) {
		return "everywhere"
	}
	var names []string
	for _, id := range apps {
		names = append(names, a.AppName(apiclient.Known(int64(id))))
	}
	return "on " + strings.Join(names, ", ")
}

// everywhere reports whether a list entry holds for all applications.
func everywhere(apps []int) bool { return len(apps) == 0 || slices.Contains(apps, apiclient.AllApps) }

// holdsFor reports whether an entry of the applications have holds for all of want.
func holdsFor(have, want []int) bool {
	if everywhere(have) {
		return true
	}
	return !everywhere(want) && !slices.ContainsFunc(want, func(id int) bool { return !slices.Contains(have, id) })
}

// meet reports whether there is an application that both entries hold for.
func meet(a, b []int) bool {
	return everywhere(a) || everywhere(b) || slices.ContainsFunc(a, func(id int) bool { return slices.Contains(b, id) })
}

// How long each of several accounts is waited for, and how many are asked at a time.
const (
	accountsAtOnce = 32
)

// answered is what an account gave, or why it gave nothing.
type answered[T any] struct {
	found []T
	err   error
}

// sideBySide asks accounts at the same time, and keeps their order. Of several each gets some seconds: one whose service hangs
// must not keep people from what the others have to say.
func sideBySide[T any](ctx context.Context, accounts []*Account, ask func(ctx context.Context, a *Account) ([]T, error)) []answered[T] {
	if len(accounts) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, accountPatience)
		defer cancel()
	}
	all := make([]answered[T], len(accounts))
	var g errgroup.Group
	g.SetLimit(accountsAtOnce)
	for i, a := range accounts {
		g.Go(func() error {
			all[i].found, all[i].err = ask(ctx, a)
			return nil
		})
	}
	_ = g.Wait() // what failed is in its account's answer
	return all
}

// collect reads a listing to its end.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}
