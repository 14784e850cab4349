package call

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Account is one tenant of the service.
type Account struct {
	Name         string
	Channel      string        // for notices; "": there is none
	OpsMention   string        // the user or user group that notices of outages, lost permission and failed mitigations mention; "": none
	RouteMention string        // whom the first of its routes mentions that mentions anyone; "": none does
	Lookback     time.Duration // how far back attacks are listed
	OngoingFor   time.Duration // how long after its last hit an attack still counts as ongoing
	ConsoleURL   string        // for links; "" for none
	Applications map[int]Application
	TestCards    []record.DrillCard // those of a drill
	Policy       policy.Policy      // what the guards go by
	Roles        policy.Roles       // who may do what
}

// Application is what the configuration says of an application.
type Application struct {
	Name        string
	CannotBlock bool // its nodes only watch: no denial, patch or mode stops anything
}

// Ops is whom notices mention that are about no attack: what only operators can fix.
func (a *Account) Ops() string { return cmp.Or(a.OpsMention, a.RouteMention) }

// App reads an application as typed: its id, its configured name, or app:default.
func (a *Account) App(typed string) (int, error) {
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
		return 0, refusal.Invalid("application", typed, "app:default", "Its number, or one of: ", strings.Join(append(names, "app:default"), ", "))
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

// AppsText names the applications of a list entry.
func (a *Account) AppsText(apps []int) string {
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
func AccountNames(accounts []*Account) text.Text {
	return text.Enumerate(accounts, ShortList, func(a *Account) text.Text { return text.New(a.Name) })
}
