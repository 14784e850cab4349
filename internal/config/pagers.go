package config

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/pager"
)

// checkPagers reports what is wrong with pagers that have a name: acknowledgements come back under it.
func (c *Config) checkPagers() {
	o := c.origins
	secrets := map[string]apiclient.Secret{}
	for route, r := range c.Routes() {
		if r.Page == nil {
			continue
		}
		p, key := *r.Page, route+".page"
		at := o.fromFile(key + ".webhook_secret")
		switch {
		case p.Name != "" && (len(p.Name) > 32 || !onlyOf(p.Name, letters+digits+"-")):
			o.reportValue(key+".name", "is no name of a pager; write up to 32 of a-z 0-9 -")
		case p.WebhookSecret == "":
		case p.Name == "":
			o.report(at, "is of a pager without a name; give it one with page.name: its acknowledgements come to /pager/NAME")
		case p.Kind != pager.PagerDuty:
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
	for _, r := range a.Routes {
		if r.Page != nil && r.Page.Name == pager {
			matches = append(matches, a.MatchText(r.Match))
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
