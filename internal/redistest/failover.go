package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Set is several servers that hold the same together, so that one may fail.
type Set struct {
	// URL is the address as wafbot's configuration takes it.
	URL string

	servers   []*Server // that hold data
	asked     []*Server // asked which of them is a master
	sentinels bool
}

// failedAfter is how long a server is unreachable before the others treat it as failed, in milliseconds.
const failedAfter = "1000"

// masterName is how the sentinels call what they watch.
const masterName = "wafbot"

// StartCluster starts a cluster of three masters with a replica each, to which others connect as secured says; nil: as
// they like.
func StartCluster(t testing.TB, secured *Secured) *Set {
	t.Helper()
	set := &Set{}
	var addrs []string
	for range 6 {
		s := start(t, secured, func(s *Server) {
			_, bus, _ := net.SplitHostPort(freeAddress(t))
			s.args = slices.Concat(s.args, secured.users(), durable(), []string{
				"--save", "", "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", failedAfter,
				"--cluster-replica-validity-factor", "0",
			})
		})
		set.servers, addrs = append(set.servers, s), append(addrs, s.Addr)
	}
	set.asked = set.servers
	create := slices.Concat(secured.cli(), []string{"--cluster", "create"}, addrs,
		[]string{"--cluster-replicas", "1", "--cluster-yes"})
	if out, err := exec.Command("redis-cli", create...).CombinedOutput(); err != nil {
		t.Fatalf("redis-cli %s: %v: %s", strings.Join(create, " "), err, out)
	}
	set.URL = secured.url("redis-cluster", strings.Join(addrs, ","))
	if err := set.Whole(); err != nil {
		t.Fatal(err)
	}
	return set
}

// StartSentinel starts a master with two replicas, and three sentinels that watch it. Others connect as secured says;
// nil: as they like.
func StartSentinel(t testing.TB, secured *Secured) *Set {
	t.Helper()
	set := &Set{sentinels: true}
	master := StartSecured(t, secured, durable()...)
	host, port, _ := net.SplitHostPort(master.Addr)
	set.servers = append(set.servers, master)
	for range 2 {
		set.servers = append(set.servers, StartSecured(t, secured, append(durable(), "--replicaof", host+" "+port)...))
	}
	var addrs []string
	for range 3 {
		s := startSentinel(t, secured, master.Addr)
		set.asked, addrs = append(set.asked, s), append(addrs, s.Addr)
	}
	set.URL = secured.url("redis-sentinel", strings.Join(addrs, ",")+"/"+masterName+"/0")
	if err := set.Whole(); err != nil {
		t.Fatal(err)
	}
	return set
}

// startSentinel starts a sentinel. It writes what it learns into its configuration, so it gets a file.
func startSentinel(t testing.TB, secured *Secured, master string) *Server {
	t.Helper()
	host, port, _ := net.SplitHostPort(master)
	return start(t, secured, func(s *Server) {
		s.ready = "+monitor"
		file := filepath.Join(s.dir, "sentinel.conf")
		options := strings.NewReplacer("MASTER", masterName, "HOST", host, "PORT", port, "FAILED", failedAfter).Replace(
			"sentinel monitor MASTER HOST PORT 2\nsentinel down-after-milliseconds MASTER FAILED\nsentinel failover-timeout MASTER 5000\n") + secured.sentinelConfig()
		if err := os.WriteFile(file, []byte(options), 0o600); err != nil {
			t.Fatal(err)
		}
		s.args = append([]string{file, "--sentinel"}, s.args...)
	})
}

// Masters are the servers that take writes now, according to the running ones.
func (s *Set) Masters() []*Server {
	for _, asked := range s.asked {
		if !asked.Alive() {
			continue
		}
		if masters := s.mastersSays(asked); len(masters) > 0 {
			return masters
		}
	}
	return nil
}

// sentinelMaster finds the address of the master in what a sentinel says of itself.
var sentinelMaster = regexp.MustCompile(`name=` + masterName + `,.*address=([^,]+)`)

// mastersSays are the running masters that one server knows and that call themselves masters.
func (s *Set) mastersSays(asked *Server) (masters []*Server) {
	var addrs []string
	if s.sentinels {
		out, _ := asked.ask("info sentinel")
		if found := sentinelMaster.FindStringSubmatch(out); found != nil {
			addrs = found[1:]
		}
	} else {
		out, _ := asked.ask("cluster nodes")
		for line := range strings.Lines(out) { // ID HOST:PORT@BUS FLAGS …
			if fields := strings.Fields(line); len(fields) > 8 && strings.Contains(fields[2], "master") &&
				!strings.Contains(fields[2], "fail") {
				addr, _, _ := strings.Cut(fields[1], "@")
				addrs = append(addrs, addr)
			}
		}
	}
	for _, server := range s.servers {
		if slices.Contains(addrs, server.Addr) && server.says("info replication", "role:master") {
			masters = append(masters, server)
		}
	}
	return masters
}

// says reports whether a server answers a command, with all of these in its answer.
func (s *Server) says(command string, all ...string) bool {
	out, err := s.ask(command)
	return err == nil && !slices.ContainsFunc(all, func(one string) bool { return !strings.Contains(out, one) })
}

// wanted is how many masters there are when all is well.
func (s *Set) wanted() int {
	if s.sentinels {
		return 1
	}
	return 3
}

// Promoted waits until as many masters take writes as should.
func (s *Set) Promoted() error {
	return until("promoted", func() bool { return len(s.Masters()) == s.wanted() && s.agree() })
}

// agree reports whether a cluster serves all its slots; sentinels have nothing of the kind.
func (s *Set) agree() bool {
	return s.sentinels || !slices.ContainsFunc(s.servers, func(server *Server) bool {
		return server.Alive() && !server.says("cluster info", "cluster_state:ok")
	})
}

// KillMaster kills the nth of the masters there are, counted round, and waits until another one was promoted in its
// place. It returns the killed one, to be restarted.
func (s *Set) KillMaster(n int) (*Server, error) {
	masters := s.Masters()
	if len(masters) == 0 {
		return nil, fmt.Errorf("kill a master: there is none")
	}
	killed := masters[n%len(masters)]
	killed.Kill()
	return killed, s.Promoted()
}

// Whole waits until every server runs, and every replica is in sync with its master.
func (s *Set) Whole() error {
	if err := s.Promoted(); err != nil {
		return err
	}
	return until("whole", func() bool {
		replicas := 0
		for _, server := range s.servers {
			if server.says("info replication", "role:slave", "master_link_status:up") {
				replicas++
			}
		}
		known := !s.sentinels || !slices.ContainsFunc(s.asked, func(sentinel *Server) bool {
			return !sentinel.says("info sentinel", "status=ok", "slaves=2,sentinels=3") // the other two, and both replicas
		})
		return known && replicas == len(s.servers)-s.wanted()
	})
}

// atOnce is how many keys of a slot are moved together: few, so that clients meet slots that have moved in part.
const atOnce = "2"

// MoveSlot moves a slot that holds something from the nth of a cluster's masters, counted round, to the next one, as
// redis-cli --cluster reshard does, while clients use it.
func (s *Set) MoveSlot(n int) error {
	masters := s.Masters()
	if len(masters) < 2 {
		return fmt.Errorf("move a slot: there are %d masters", len(masters))
	}
	from, to := masters[n%len(masters)], masters[(n+1)%len(masters)]
	var err error
	say := func(server *Server, words ...string) (out string) { // nothing after the first error
		if err == nil {
			out, err = server.cli(words...)
		}
		return out
	}
	key := say(from, "RANDOMKEY")
	if key == "" {
		return err
	}
	slot, giver, taker := say(from, "CLUSTER", "KEYSLOT", key), say(from, "CLUSTER", "MYID"), say(to, "CLUSTER", "MYID")
	say(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", giver)
	say(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", taker)
	if err == nil {
		err = from.migrate(slot, to)
	}
	for _, server := range slices.Concat([]*Server{to, from}, masters) { // the taker first, so that the slot always has an owner
		say(server, "CLUSTER", "SETSLOT", slot, "NODE", taker)
	}
	return err
}

// migrate moves a slot's keys.
func (s *Server) migrate(slot string, to *Server) error {
	host, port, _ := net.SplitHostPort(to.Addr)
	for {
		found, err := s.cli("CLUSTER", "GETKEYSINSLOT", slot, atOnce)
		if err != nil || found == "" {
			return err
		}
		if _, err := s.cli(slices.Concat([]string{"MIGRATE", host, port, "", "0", "5000"}, s.secured.auth(), []string{"KEYS"},
			strings.Split(found, "\n"))...); err != nil {
			return err
		}
	}
}

// cli sends a command by redis-cli.
func (s *Server) cli(words ...string) (string, error) {
	host, port, _ := net.SplitHostPort(s.Addr)
	out, err := exec.Command("redis-cli", slices.Concat(s.secured.cli(), []string{"-e", "-h", host, "-p", port},
		words)...).CombinedOutput()
	said := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("redis-cli %s: %w: %s", words[0], err, said)
	}
	return said, nil
}
