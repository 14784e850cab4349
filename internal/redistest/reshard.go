package redistest

import (
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
)

// atOnce is how many keys of a slot are moved together: few, so that clients meet slots of which a part has moved.
const atOnce = "2"

// MoveSlot moves a slot that holds something from the nth of a cluster's masters, counted round, to the next one, as redis-cli --cluster reshard does, while
// clients use it.
func (s *Set) MoveSlot(n int) error {
	masters := s.Masters()
	if len(masters) < 2 {
		return fmt.Errorf("move a slot: there are %d masters", len(masters))
	}
	from, to := masters[n%len(masters)], masters[(n+1)%len(masters)]
	key, err := from.cli("RANDOMKEY")
	if err != nil || key == "" {
		return err
	}
	slot, err := from.cli("CLUSTER", "KEYSLOT", key)
	if err != nil {
		return err
	}
	giver, err := from.cli("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	taker, err := to.cli("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	if _, err := to.cli("CLUSTER", "SETSLOT", slot, "IMPORTING", giver); err != nil {
		return err
	}
	if _, err := from.cli("CLUSTER", "SETSLOT", slot, "MIGRATING", taker); err != nil {
		return err
	}
	if err := from.migrate(slot, to); err != nil {
		return err
	}
	for _, server := range slices.Concat([]*Server{to, from}, masters) { // first who takes it, so that it is nobody's at no time
		if _, err := server.cli("CLUSTER", "SETSLOT", slot, "NODE", taker); err != nil {
			return err
		}
	}
	return nil
}

// migrate moves a slot's keys.
func (s *Server) migrate(slot string, to *Server) error {
	host, port, _ := net.SplitHostPort(to.Addr)
	for {
		found, err := s.cli("CLUSTER", "GETKEYSINSLOT", slot, atOnce)
		if err != nil || found == "" {
			return err
		}
		if _, err := s.cli(slices.Concat([]string{"MIGRATE", host, port, "", "0", "5000"}, s.secured.auth(), []string{"KEYS"}, strings.Split(found, "\n"))...); err != nil {
			return err
		}
	}
}

// cli sends a command by redis-cli.
func (s *Server) cli(words ...string) (string, error) {
	host, port, _ := net.SplitHostPort(s.Addr)
	out, err := exec.Command("redis-cli", slices.Concat(s.secured.cli(), []string{"-e", "-h", host, "-p", port}, words)...).CombinedOutput()
	said := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("redis-cli %s: %w: %s", words[0], err, said)
	}
	return said, nil
}
