package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/webhooks"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/webhook"
)

// Webhook is a program that is sent events and audit entries.
type Webhook struct {
	URL        apiclient.Secret `yaml:"url"` // often holds a key
	URLFile    string           `yaml:"url_file"`
	Secret     apiclient.Secret `yaml:"secret"` // signs what is sent: whsec_…
	SecretFile string           `yaml:"secret_file"`
	Events     []string         `yaml:"events"`   // names, or "*"
	Accounts   []string         `yaml:"accounts"` // names, or "*"
}

func (w *Webhook) setDefaults() {
	w.Events, w.Accounts = []string{webhooks.Everything}, []string{webhooks.Everything}
}

// WebhookList are the webhooks as what sends to them takes them.
func (c *Config) WebhookList() (all webhooks.List) {
	for i, w := range c.Webhooks {
		all = append(all, webhooks.Webhook{Name: Element("webhooks", i), URL: w.URL, Secret: w.Secret, Events: w.Events, Accounts: w.Accounts})
	}
	return all
}

// checkWebhooks reports what is wrong with webhooks. Two with one address would share a queue.
func (c *Config) checkWebhooks() {
	o := c.origins
	var accounts []string
	for _, a := range c.Accounts {
		accounts = append(accounts, a.Name)
	}
	first := map[string]string{} // key of an address
	for i, w := range c.Webhooks {
		key := Element("webhooks", i)
		if at := o.secretAt(key+".url", w.URL); at != "" {
			o.encryptedAddress(at, w.URL.Reveal())
			if other := first[w.URL.Reveal()]; other != "" {
				o.report(at, "is the address of %s, too; put the events and accounts of both into one", other)
			} else {
				first[w.URL.Reveal()] = key
			}
		}
		if at := o.secretAt(key+".secret", w.Secret); at != "" {
			if err := webhook.CheckSecret(w.Secret); err != nil {
				o.report(at, "%v", err)
			}
		}
		o.checkNames(key+".events", w.Events, record.EventNames(), "event")
		o.checkNames(key+".accounts", w.Accounts, accounts, "account")
	}
}

// secretAt is the key that gave a secret: it may be a file's. "" if there is none, which is reported unless it is already why a file can't be read.
func (o *origins) secretAt(key string, value apiclient.Secret) string {
	file := key + "_file"
	switch {
	case value == "" && !o.isSet(file):
		o.report(key, "missing; set it")
	case value == "":
	case o.isSet(file):
		return file
	default:
		return key
	}
	return ""
}

// encryptedAddress wants an address that nobody on the way can read or change what is sent to.
func (o *origins) encryptedAddress(key, text string) {
	if u, err := url.Parse(text); err == nil && u.Scheme == "http" && u.Hostname() != "" && !IsLoopback(u.Hostname()) {
		o.report(key, "would send over the network unencrypted; write https://, or let a proxy on this machine pass it on")
		return
	}
	o.webAddress(key, text)
}

// checkNames wants words that are each one of the names, or "*".
func (o *origins) checkNames(list string, words, names []string, what string) {
	if len(words) == 0 {
		o.report(list, "is empty, so that nothing would be sent; leave it out for all")
	}
	for i, word := range words {
		if word != webhooks.Everything && !slices.Contains(names, word) {
			o.reportValue(Element(list, i), "is no %s; %s", what, didYouMean(word, names, "write some of "+strings.Join(names, ", ")+`, or "*" for all`))
		}
	}
}

// checkPagers reports what is wrong with pagers that have a name: acknowledgements come back under it.
func (c *Config) checkPagers() {
	o := c.origins
	secrets := map[string]apiclient.Secret{}
	for route, r := range c.Routes() {
		if r.Page == nil {
			continue
		}
		p, key := *r.Page, route+".page"
		at := key + ".webhook_secret"
		if o.isSet(at + "_file") {
			at += "_file"
		}
		switch {
		case p.Name != "" && (len(p.Name) > 32 || !onlyOf(p.Name, letters+digits+"-")):
			o.reportValue(key+".name", "is no name of a pager; write up to 32 of a-z 0-9 -")
		case p.WebhookSecret == "":
		case p.Name == "":
			o.report(at, "is of a pager without a name; give it one with page.name: its acknowledgements come to /pager/NAME")
		case p.Format != pager.PagerDuty:
			o.report(at, "is of no PagerDuty; take it out: acknowledgements come back from PagerDuty alone")
		case secrets[p.Name] != "" && secrets[p.Name] != p.WebhookSecret:
			o.report(at, "is another than that of the same name on another route; give the pagers two names, or one secret")
		default:
			secrets[p.Name] = p.WebhookSecret
		}
	}
}

// RoutesOf are the matches of the account's routes that have the pager of that name, as pages name them.
func (a *Account) RoutesOf(pager string) (matches []string) {
	for i, r := range a.Routes {
		if r.Page != nil && r.Page.Name == pager {
			matches = append(matches, a.PollerRoutes()[i].Match.String())
		}
	}
	return matches
}

// PagerSecret signs what the pager of that name sends; "": there is none.
func (c *Config) PagerSecret(name string) apiclient.Secret {
	for _, r := range c.Routes() {
		if p := r.Page; p != nil && p.Name == name && p.WebhookSecret != "" {
			return p.WebhookSecret
		}
	}
	return ""
}
