package commands_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func TestAnEndThatIsOverdue(t *testing.T) {
	t.Parallel()
	for fault, why := range map[string]string{"status:423": "the service has locked its rules just now", "status:500": "error of its own", "status:404": "doesn't find it"} {
		synctest.Test(t, func(t *testing.T) {
			w := newBubble(t)
			ch := w.anyway(ann, "mode 4 block for=10m")
			w.fault("POST /v1/objects/hint/create", fault, 0)
			runDue(t, w, 12*time.Minute) // some errors are looked into first
			late := w.ledger.takeDue(isLate)
			require.Len(t, late, 1, fault)
			lines := change.OverdueLines(w.cfg.Accounts[0], late[0].Change, w.clock())
			require.Contains(t, lines[0].String(), "OVERDUE on acme: Shop should return to monitoring at ")
			require.Contains(t, lines[0].String(), ": NOT done")
			require.Contains(t, lines[1].String(), why)
			require.Contains(t, joinedText(lines[2:]), "by hand, in the service's console: set the mode of Shop to monitoring")
			runDue(t, w, 4*time.Minute)
			require.Empty(t, w.ledger.takeDue(isLate), "once, however often it is tried")
			require.Equal(t, []string{"block"}, w.modes())
			w.service.ClearFaults()
			runDue(t, w, 2*time.Minute)
			require.Equal(t, []string{"monitoring"}, w.modes())
			require.Equal(t, record.StateUndone, w.ledger.change(ch.ID).State)
			over := w.ledger.all()[0]
			require.Equal(t, ch.ID, over.Undoes)
			require.Contains(t, change.EndedLateLine(over).String(), "Done after all, due at "+ch.Until.Format("2006-01-02 15:04")+" UTC: Undo of: Switch Shop to block for 10 min · wafbot")
		})
	}
}

func joinedText(lines []text.Text) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.String())
	}
	return strings.Join(all, "\n")
}

// Where the notice of lost permission says what is due, nothing else does.
func TestWhatLostPermissionSaysIsNotNotifiedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		ch := w.anyway(ann, "mode 4 block for=10m")
		w.fault("POST /v1/objects/hint/create", "status:403", 0)
		runDue(t, w, 12*time.Minute)
		require.Empty(t, w.ledger.takeDue(isLate))
		lost, _ := w.lastLoss()
		require.Equal(t, ch.ID, lost.Refused[0].Ends)
		w.service.ClearFaults()
		w.fault("POST /v1/objects/hint/create", "status:423", 0)
		runDue(t, w, 2*time.Minute)
		require.Empty(t, w.ledger.takeDue(isLate), "nor when something else goes wrong meanwhile")
		w.service.ClearFaults()
		runDue(t, w, 2*time.Minute)
		require.Equal(t, []string{"monitoring"}, w.modes())
		require.Nil(t, w.ledger.all()[0].Late)
	})
}

// A person was faster than the clock.
func TestAnOverdueEndIsUndoneByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		ch := w.does(ann, "patch shop.example.com/login type=sqli part=get.q for=10m")
		w.fault("POST /v1/objects/hint/delete", "status:423", 0)
		runDue(t, w, 13*time.Minute)
		require.Len(t, w.ledger.takeDue(isLate), 1)
		w.service.ClearFaults()
		w.does(bob, "undo "+ch.ID)
		n := len(w.audit.all())
		runDue(t, w, 10*time.Minute)
		require.Len(t, w.audit.all(), n)
		require.NotNil(t, w.ledger.all()[0].Late, "it is notified where it was notified that it was late")
	})
}
