package chaos

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// trusting is a client that trusts a certificate.
func trusting(t testing.TB, file string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(text))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// usage is what the servers of Redis have been asked, and take.
type usage struct {
	commands, bytes, memory int64
	cpu                     time.Duration
}

func (s *scale) redisUsage() (u usage) {
	s.t.Helper()
	for _, addr := range s.servers {
		v, err := askRedis(addr, "INFO")
		require.NoError(s.t, err)
		fields := map[string]string{}
		for line := range strings.Lines(v.words[0]) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			fields[name] = value
		}
		number := func(name string) float64 {
			n, err := strconv.ParseFloat(fields[name], 64)
			require.NoError(s.t, err, name)
			return n
		}
		u.commands += int64(number("total_commands_processed"))
		u.bytes += int64(number("total_net_input_bytes") + number("total_net_output_bytes"))
		u.memory += int64(number("used_memory"))
		u.cpu += time.Duration((number("used_cpu_user") + number("used_cpu_sys")) * float64(time.Second))
	}
	return u
}

// spent is what was used in a time.
type spent struct {
	took            time.Duration
	replicas, world time.Duration // of processors
	redis           usage         // but its memory: in the end
	resident        int64         // bytes of all replicas, in the end
}

// during is what everything used while something went on.
func (s *scale) during(do func()) (u spent) {
	s.t.Helper()
	begun, replicas, world, redis := time.Now(), s.cpu(), cpuOf(s.t, s.world), s.redisUsage()
	do()
	after := s.redisUsage()
	u.took, u.replicas, u.world = time.Since(begun), s.cpu()-replicas, cpuOf(s.t, s.world)-world
	u.redis = usage{after.commands - redis.commands, after.bytes - redis.bytes, after.memory - s.empty.memory, after.cpu - redis.cpu}
	for _, one := range s.replicas {
		u.resident += residentOf(s.t, one.process)
	}
	return u
}

func (s *scale) cpu() (sum time.Duration) {
	for _, one := range s.replicas {
		sum += cpuOf(s.t, one.process)
	}
	return sum
}

// cpuOf is the processor time that a process has used. Linux counts hundredths of a second.
func cpuOf(t testing.TB, p *process) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ") // behind the name
	fields := strings.Fields(rest)
	user, err := strconv.ParseInt(fields[11], 10, 64)
	require.NoError(t, err)
	system, err := strconv.ParseInt(fields[12], 10, 64)
	require.NoError(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// residentOf is the memory of a process, in bytes.
func residentOf(t testing.TB, p *process) int64 {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// trips are the machine's own round trips: over TLS to the world, and to Redis. They are medians.
func (s *scale) trips() (http, redis time.Duration) {
	s.t.Helper()
	var https, pings []time.Duration
	for range 300 {
		begun := time.Now()
		res, err := s.http.Get(s.url + "/scale/nothing")
		require.NoError(s.t, err)
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(s.t, err)
		res.Body.Close()
		https = append(https, time.Since(begun))
		begun = time.Now()
		require.NoError(s.t, s.redis.Ping(s.t.Context()).Err())
		pings = append(pings, time.Since(begun))
	}
	return part(https, 0.5), part(pings, 0.5)
}

// part is the duration that a part of all don't exceed; 0 of none.
func part(all []time.Duration, of float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(of*float64(len(sorted))))]
}

// owners are the tokens of all accounts' leases, by number; "": none.
func (s *scale) owners() []string {
	s.t.Helper()
	p := s.redis.Pipeline()
	asked := make([]*redis.StringCmd, s.size.Accounts)
	for n := range asked {
		asked[n] = p.Get(context.Background(), fmt.Sprintf("{a:%s}:lease", tenantName(n)))
	}
	_, _ = p.Exec(context.Background()) // of leases that aren't there it says so
	tokens := make([]string, len(asked))
	for n, one := range asked {
		tokens[n] = one.Val()
	}
	return tokens
}

// owned waits until each account that lost its owner has another one, and returns how long after the kill the last of
// them had, and which they are.
func (s *scale) owned(before []string, killed time.Time) (last time.Duration, found map[int]bool) {
	s.t.Helper()
	const watch = 8 * time.Second // a lease ends within four
	found = map[int]bool{}
	for without := 1; without > 0 || time.Since(killed) < watch; pause(s.t.Context(), 100*time.Millisecond) {
		require.Less(s.t, time.Since(killed), 2*time.Minute, "accounts without an owner: %d", without)
		without = 0
		for n, token := range s.owners() {
			switch {
			case token == "":
				without++
			case token != before[n] && !found[n]:
				found[n] = true
				last = time.Since(killed)
			}
		}
	}
	return last, found
}
