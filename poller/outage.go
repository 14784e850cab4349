package poller

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

const (
	// outageAfter is for how many intervals polls fail before that is an event.
	outageAfter = 4
	// outageFailures and leastOutage are how many polls fail in a row at least, and for how long, before that is an event:
	// a single refusal or error may be one broken instance of the service, also where polls are frequent.
	outageFailures, leastOutage = 3, 10 * time.Second
	// leastGap is how far back the last good poll lies at least after a monitoring gap. A shorter gap can't be
	// distinguished from time that was not saved yet, and from a replica taking over.
	leastGap = 2 * time.Minute
)

// inWords says for people why the service can't be read.
func inWords(err error) string {
	switch apiclient.KindOf(err) {
	case apiclient.Unauthenticated:
		return "the service refuses the token"
	case apiclient.Forbidden:
		return "the token lacks the permission to read"
	case apiclient.RateLimited:
		return "the service says there are too many requests"
	case apiclient.Server:
		return "the service answers with errors"
	case apiclient.Network:
		return "the service can't be reached"
	case apiclient.Foreign:
		return "the service answers with records of other clients"
	case apiclient.NotFound, apiclient.Invalid:
		return "the service refuses the request: is the account's address or client id wrong?"
	}
	return "the service can't be read"
}

// fix says for people what can be done about an account that can't be polled.
func fix(kind apiclient.ErrorKind) string {
	switch kind {
	case apiclient.Unauthenticated:
		return "who manages the service's tokens makes a new one; written into the account's token_file, it is read by itself"
	case apiclient.Forbidden:
		return "an admin of the service gives the token's user a role that may read attacks"
	case apiclient.NotFound, apiclient.Invalid:
		return "wafbot doctor says more"
	}
	return ""
}
