package change

import (
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
)

// Place is a host and a path in the form in which requests reach the rules, either of which may be "". Where something
// else was written, a warning shows both: who asks may mean other requests than a rule for that would match.
func Place(host, path string) (s apiclient.Scope, warnings refusal.Warnings, err error) {
	s.Host, err = apiclient.CleanHost(host)
	if err == nil {
		s.Path, err = apiclient.CleanPath(path)
	}
	if err != nil {
		return s, nil, err
	}
	written, clean := host+path, s.Host+s.Path
	same := strings.EqualFold(host, s.Host) && (path == s.Path || path == apiclient.EncodePath(s.Path))
	if p, err := apiclient.ParsePath(s.Path); err == nil && s.Path != "" {
		s.Path = p.String()
	}
	if !same {
		warnings.Addf("requests to %v reach the rules as %v: it is for that", refusal.Typed(written), refusal.Typed(clean))
	}
	return s, warnings, nil
}

// Unsaid refuses a place that no rule can name.
func Unsaid(err error) error {
	return refusal.Guarded("that can't be said to the service: %v", text.Sanitize(err.Error(), 300))
}
