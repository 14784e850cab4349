package call

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

// App reads an application as typed: its id, its configured name, or app:default.
func App(a *config.Account, typed string) (int, error) {
	if strings.EqualFold(typed, "app:default") {
		return apiclient.DefaultApp, nil
	}
	var names []string
	for _, id := range slices.Sorted(maps.Keys(a.Applications)) {
		name := a.Applications[id].Name
		if strings.EqualFold(name, typed) {
			return id, nil
		}
		names = append(names, fmt.Sprintf("%s (%d)", name, id))
	}
	id, err := strconv.Atoi(typed)
	if err != nil || id == 0 || id < apiclient.DefaultApp {
		return 0, refusal.Invalid("application", typed, "app:default", "Its number, or one of: ", strings.Join(append(names, "app:default"), ", "))
	}
	return id, nil
}

// AppsText names the applications of a list entry.
func AppsText(a *config.Account, apps []int) string {
	if Everywhere(apps) {
		return "everywhere"
	}
	var names []string
	for _, id := range apps {
		names = append(names, a.AppName(apiclient.Known(int64(id))))
	}
	return "on " + strings.Join(names, ", ")
}

// Everywhere reports whether a list entry holds for all applications.
func Everywhere(apps []int) bool { return len(apps) == 0 || slices.Contains(apps, apiclient.AllApps) }

// HoldsFor reports whether an entry of the applications have holds for all of want.
func HoldsFor(have, want []int) bool {
	if Everywhere(have) {
		return true
	}
	return !Everywhere(want) && !slices.ContainsFunc(want, func(id int) bool { return !slices.Contains(have, id) })
}

// Overlap reports whether there is an application that both entries hold for.
func Overlap(a, b []int) bool {
	return Everywhere(a) || Everywhere(b) || slices.ContainsFunc(a, func(id int) bool { return slices.Contains(b, id) })
}

// AccountNames are the names of accounts, for people: of many the first ones.
func AccountNames(accounts []*config.Account) text.Text {
	return text.Enumerate(accounts, ShortList, func(a *config.Account) text.Text { return text.New(a.Name) })
}
