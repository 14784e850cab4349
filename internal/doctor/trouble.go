package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/store"
)

// wrong is what is wrong with a thing that the caller names.
func wrong(said, fix string) Finding { return Finding{State: Wrong, Text: said, Fix: fix} }

// networkTrouble is an error on the way to a host: no answer came, or not one of that service.
func networkTrouble(err error, host, key string) Finding {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return wrong("the host "+dns.Name+" can't be found", "check "+key+", and this machine's name service")
	case errors.As(err, &certificate):
		return wrong(fmt.Sprintf("the certificate of %s isn't trusted: %v", host, certificate.Err), "fix the certificate, or check for a proxy in between")
	case errors.Is(err, syscall.ECONNREFUSED):
		return wrong("nothing listens at "+host, "check "+key+", and whether it runs there")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return wrong(host+" gave no answer in time", "check the way there: firewall, proxy, name service")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wrong(host+" broke the connection off", "try again; if it stays so, check firewalls and proxies on the way")
	}
	return wrong(fmt.Sprintf("no answer that can be understood from %s: %v", host, err), "check "+key+": what answers there may be something else")
}

// slackTrouble is an error of a call to Slack.
func (c checkup) slackTrouble(err error) Finding {
	if t, ok := slackconn.Explain(err); ok {
		return wrong(t.Text, t.Fix)
	}
	return networkTrouble(err, hostOf(c.cfg.Slack.APIURL), "slack.api_url")
}

// redisTrouble is an error of a call to Redis.
func (c checkup) redisTrouble(err error) Finding {
	if text, fix, ok := store.Refused(err); ok {
		return wrong(text, fix)
	}
	return networkTrouble(err, hostOf(c.cfg.Redis.URL.Reveal()), c.cfg.RedisKey())
}

// accountTrouble is an error of a call to the service. do is what the call was for: "read attacks".
func (c checkup) accountTrouble(err error, i int, do string) Finding {
	a, key := c.cfg.Accounts[i], config.Element("accounts", i)
	var e *apiclient.Error
	if !errors.As(err, &e) {
		return wrong(err.Error(), "check "+key)
	}
	said := ""
	if e.Status != 0 {
		said = fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Message != "" {
		said = fmt.Sprintf(" (status %d: %s)", e.Status, e.Message)
	}
	switch e.Kind {
	case apiclient.Unauthenticated:
		where := key + ".token"
		if a.TokenFile != "" {
			where = a.TokenFile + ", which wafbot reads again by itself"
		}
		return wrong("the service doesn't accept the token"+said, "make a new token in the service's console and put it into "+where)
	case apiclient.Forbidden:
		return wrong("the token may not "+do+said, "give the token's user the permission to "+do+", in the service's console")
	case apiclient.RateLimited:
		return wrong("the service takes no more requests just now, to "+do+said, "wait a minute and try again; if it stays so, raise "+key+".poll_interval")
	case apiclient.Locked:
		return wrong("the service has locked its rules just now"+said, "wait a minute and try again")
	case apiclient.Network:
		return networkTrouble(err, hostOf(a.APIURL), key+".api_url")
	case apiclient.NotFound:
		return wrong("the service doesn't know how to "+do+said, "check "+key+".api_url: it is the base address of your cloud")
	case apiclient.Server:
		return wrong("the service failed to "+do+said, "try again in a minute; if it stays so, check "+key+".api_url and ask the service's support")
	}
	return wrong("the service refuses to "+do+": "+e.Error(), "check "+key+".api_url and client_id")
}
