package notify

import (
	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
)

// plainer is what to send in place of a message that Slack refuses for what is in it, if that is the fault: a plain card is forgiven, a lost one
// never. Without what it carries for wafbot it can't be read back, so that goes only where that is the fault.
func (d *deliverer) plainer(method string, m card.Message, err error) (card.Message, bool) {
	v, _ := slackconn.Judge(err)
	switch {
	case v == slackconn.MetadataRefused && len(m.Metadata.EventPayload) > 1:
		m = m.WithoutFacts()
	case v == slackconn.ContentRefused && len(m.Blocks) > 0:
		m = m.AsText(d.cfg.Command)
	default:
		return card.Message{}, false
	}
	d.metrics.refused.WithLabelValues(method).Inc()
	d.cfg.Log.Error("slack refuses what is in a message, sending it plainer", "method", method, "err", slackconn.Detailed(err))
	return m, true
}
