package apiclient

import (
	"context"
	"net/http"
	"net/url"
)

// User is the owner of the token and the account it belongs to.
type User struct {
	ID         int
	ClientID   int
	ClientName string
	Enabled    bool   // also when the service omits it
	ConsoleURL string // the console's base address, http or https; "" when the service omits it
}

// User reads the token's owner: POST /v1/user. It may be repeated.
func (c *Client) User(ctx context.Context) (User, error) {
	k := call{op: "read user", method: http.MethodPost, path: "/v1/user", body: struct{}{}}
	ans, err := c.do(ctx, k)
	if err != nil {
		return User{}, err
	}
	r := object(ans.value)
	if r == nil {
		return User{}, puzzling(k, "answer holds no user")
	}
	u := User{ID: int(r.id("id")), ClientID: int(r.id("client_id")), ClientName: r.text("client_name"), Enabled: true}
	if u.ClientID == 0 {
		u.ClientID = int(r.id("clientid"))
	}
	if enabled, ok := flag(r["enabled"]); ok {
		u.Enabled = enabled
	}
	if console, err := url.Parse(r.text("frontend_url")); err == nil && (console.Scheme == "https" || console.Scheme == "http") && console.Host != "" {
		u.ConsoleURL = console.String()
	}
	return u, nil
}

// ClientID is the account's id: the configured one, else the one of POST /v1/user, which is requested once and kept.
// While one caller asks, the others wait for it.
func (c *Client) ClientID(ctx context.Context) (int, error) {
	const op = "read client id"
	if id := c.clientID.Load(); id != 0 {
		return int(id), nil
	}
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return 0, &Error{Op: op, Kind: Network, Err: ctx.Err()}
	}
	if id := c.clientID.Load(); id != 0 {
		return int(id), nil
	}
	u, err := c.User(ctx)
	if err != nil {
		return 0, err
	}
	if u.ClientID <= 0 {
		return 0, &Error{Op: op, Kind: Server, Message: "answer holds no client id"}
	}
	c.clientID.Store(int64(u.ClientID))
	return u.ClientID, nil
}
