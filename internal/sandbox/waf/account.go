package waf

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// defaultApplication is the id of the application for requests that no other application takes.
const defaultApplication = -1

// account is a tenant with its data.
type account struct {
	Account
	rules     []*rule
	actions   map[string]int64 // condition set to actionid
	entries   []*entry
	listings  []listing // of the last seconds, the oldest first
	records   []*record
	vulns     []*vuln
	campaigns []*campaign
	denied    map[deniedSource]*record
	traffic   []TrafficPoint
	counts    map[string]int
	lastRule  int64
	lastEntry int64
	lastVuln  int
}

func newAccount(a Account, now time.Time) *account {
	if a.ClientName == "" {
		a.ClientName = a.Name
	}
	created := &account{
		Account:   a,
		actions:   map[string]int64{},
		denied:    map[deniedSource]*record{},
		counts:    map[string]int{},
		lastRule:  int64(a.ClientID) * 10_000,
		lastEntry: 100,
		lastVuln:  1000,
	}
	created.seedRules(now)
	created.seedVulns(now)
	return created
}

// authenticate returns the account whose token the request carries, nil when it is none's.
func (s *Service) authenticate(r *http.Request) *account {
	token := []byte(r.Header.Get("X-ServiceApi-Token"))
	for _, a := range s.accounts {
		if a.Token != "" && subtle.ConstantTimeCompare([]byte(a.Token), token) == 1 {
			return a
		}
	}
	return nil
}

// account finds an account by its name; "" is the first.
func (s *core) account(name string) (*account, error) {
	for _, a := range s.accounts {
		if name == "" || a.Name == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("no account %q", name)
}

func (a *account) application(id int) (Application, bool) {
	for _, app := range a.Applications {
		if app.ID == id {
			return app, true
		}
	}
	return Application{ID: defaultApplication, Name: "default"}, id == defaultApplication
}

// owns checks the clientid of a request's filter, which is an array.
func (a *account) owns(filter *params) bool {
	clients := required[[]int](filter, "clientid")
	if clients != nil && len(clients) == 0 {
		filter.refuse("clientid", "can't be blank")
	}
	return !slices.ContainsFunc(clients, func(id int) bool { return id != a.ClientID })
}

func (s *Service) user(c call) reply {
	c.body.known()
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	return answer(map[string]any{
		"id":           c.account.ClientID*100 + 1,
		"client_id":    c.account.ClientID,
		"client_name":  c.account.ClientName,
		"enabled":      true,
		"username":     c.account.Name + "@service.example",
		"permissions":  []string{"admin"},
		"frontend_url": "https://console.service.example/",
	})
}
