package address_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/store/address"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	login := address.Login{Username: "ann", Password: "p@ss/"}
	for url, want := range map[string]address.Address{
		"redis://127.0.0.1:6379/0":                    {Hosts: []string{"127.0.0.1:6379"}},
		"redis://h":                                   {Hosts: []string{"h:6379"}},
		"redis://[::1]:7000/2":                        {Hosts: []string{"[::1]:7000"}, DB: 2},
		"redis://[::1]":                               {Hosts: []string{"[::1]:6379"}},
		"redis://:old%23@h:1/":                        {Hosts: []string{"h:1"}, Login: address.Login{Password: "old#"}},
		"rediss://ann:p%40ss%2F@h:6380/1":             {Hosts: []string{"h:6380"}, DB: 1, Login: login, TLS: &tls.Config{}},
		"redis-cluster://h:1,g:2":                     {Hosts: []string{"h:1", "g:2"}, Cluster: true},
		"redis-cluster://h/0":                         {Hosts: []string{"h:6379"}, Cluster: true},
		"redis-clusters://ann:p%40ss%2F@h,g":          {Hosts: []string{"h:6379", "g:6379"}, Cluster: true, Login: login, TLS: &tls.Config{}},
		"rediss-cluster://h":                          {Hosts: []string{"h:6379"}, Cluster: true, TLS: &tls.Config{}},
		"redis-sentinel://h,g:7/main":                 {Hosts: []string{"h:26379", "g:7"}, Master: "main"},
		"redis-sentinel://ann:p%40ss%2F@h:1/main/3":   {Hosts: []string{"h:1"}, Master: "main", DB: 3, Login: login},
		"redis-sentinels://h:1/main/0":                {Hosts: []string{"h:1"}, Master: "main", TLS: &tls.Config{}},
		"rediss-sentinel://ann:p%40ss%2F@h:1/main/0/": {Hosts: []string{"h:1"}, Master: "main", Login: login, TLS: &tls.Config{}},
		"redis-sentinel://h:1/main?sentinel_password=p+q": {
			Hosts: []string{"h:1"}, Master: "main", Sentinel: address.Login{Password: "p+q"},
		},
		"redis-sentinels://:own@h:1/main?sentinel_username=ann&sentinel_password=p%40ss%2F": {
			Hosts: []string{"h:1"}, Master: "main", Login: address.Login{Password: "own"}, Sentinel: login, TLS: &tls.Config{},
		},
	} {
		got, err := address.Parse(address.Options{URL: url})
		require.NoError(t, err, url)
		if want.TLS != nil {
			require.NotNil(t, got.TLS, url)
			require.False(t, got.TLS.InsecureSkipVerify)
			want.TLS = got.TLS
		}
		require.Equal(t, &want, got, url)
	}
}

// What isn't understood, or would do nothing, is an error that says what to do.
func TestBadAddresses(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no certificate"), 0o600))
	for _, tt := range []struct {
		options   address.Options
		key, says string
	}{
		{address.Options{}, "redis.url", "write it like redis://HOST:6379/0"},
		{address.Options{URL: "h:6379"}, "redis.url", "is no Redis address"},
		{address.Options{URL: "http://:hunter2@h"}, "redis.url", "is no Redis address"},
		{address.Options{URL: "redis+tls://:hunter2@h"}, "redis.url", "with TLS rediss://"},
		{address.Options{URL: "redis://:hunter2@h:port/0"}, "redis.url", "can't be read; write it like redis://HOST:6379/0"},
		{address.Options{URL: "redis://:hunter2#@h/0"}, "redis.url", "%XX"},
		{address.Options{URL: "redis://:hunter2%@h/0"}, "redis.url", "%XX"},
		{address.Options{URL: "redis://:hunter2@h:0"}, "redis.url", "has a host or port that is none"},
		{address.Options{URL: "redis://:hunter2@/0"}, "redis.url", "has a host or port that is none"},
		{address.Options{URL: "redis-cluster://:hunter2@h,,g"}, "redis.url", "has a host or port that is none"},
		{address.Options{URL: "redis://:hunter2@h,g/0"}, "redis.url", "redis-cluster:// or redis-sentinel://"},
		{address.Options{URL: "redis://:hunter2@h/hunter2"}, "redis.url", "no number of a database"},
		{address.Options{URL: "redis://:hunter2@h/-1"}, "redis.url", "no number of a database"},
		{address.Options{URL: "redis://:hunter2@h/0/1"}, "redis.url", "no number of a database"},
		{address.Options{URL: "redis://hunter2@h"}, "redis.url", "names a user without a password"},
		{address.Options{URL: "rediss://:hunter2@h?skip_verify=true"}, "redis.url", "behind a ? or #"},
		{address.Options{URL: "rediss://:hunter2@h?"}, "redis.url", "behind a ? or #"},
		{address.Options{URL: "redis-cluster://:hunter2@h?addr=g"}, "redis.url", "behind a ? or #"},
		{address.Options{URL: "redis-cluster://:hunter2@h/1"}, "redis.url", "redis.key_prefix"},
		{address.Options{URL: "redis-sentinel://:hunter2@h"}, "redis.url", "doesn't name the master"},
		{address.Options{URL: "redis-sentinel://:hunter2@h/main/hunter2"}, "redis.url", "no number of a database"},
		{address.Options{URL: "redis-sentinel://:hunter2@h/main/0/1"}, "redis.url", "no number of a database"},
		{address.Options{URL: "redis://h", TLS: address.TLS{CAFile: text}}, "redis.tls", "write rediss://"},
		{address.Options{URL: "redis-cluster://h", TLS: address.TLS{CAFile: text}}, "redis.tls", "write redis-clusters://"},
		{address.Options{URL: "redis-sentinel://h/main", TLS: address.TLS{KeyFile: text}}, "redis.tls", "write redis-sentinels://"},
		{address.Options{URL: "rediss://h", TLS: address.TLS{CAFile: text + "-gone"}}, "redis.tls.ca_file", "fix the path"},
		{address.Options{URL: "rediss://h", TLS: address.TLS{CAFile: text}}, "redis.tls.ca_file", "holds no certificate"},
		{address.Options{URL: "rediss://h", TLS: address.TLS{CertFile: text}}, "redis.tls", "one of cert_file and key_file"},
		{address.Options{URL: "rediss://h", TLS: address.TLS{KeyFile: text}}, "redis.tls", "one of cert_file and key_file"},
		{address.Options{URL: "rediss://h", TLS: address.TLS{CertFile: text, KeyFile: text}}, "redis.tls.cert_file", "as PEM"},
		{address.Options{URL: "redis://h?sentinel_password=hunter2"}, "redis.url", "behind a ? or #"},
		{address.Options{URL: "rediss-cluster://h?sentinel_username=ann"}, "redis.url", "behind a ? or #"},
		{address.Options{URL: "redis-sentinel://h/main?sentinel_username=ann"}, "redis.url", "add &sentinel_password="},
		{address.Options{URL: "redis-sentinel://h/main?sentinel_password="}, "redis.url", "is empty"},
		{address.Options{URL: "redis-sentinel://h/main?sentinel_password=hunter2&sentinel_password=hunter2"}, "redis.url", "doesn't know"},
		{address.Options{URL: "redis-sentinel://h/main?sentinel_password=1&hunter2"}, "redis.url", "%XX"},
		{address.Options{URL: "redis-sentinel://h/main?sentinel_password=hunter2%"}, "redis.url", "%XX"},
		{address.Options{URL: "redis-sentinel://h/main?sentinel_password=hunter2;db=1"}, "redis.url", "%XX"},
		{address.Options{URL: "redis-sentinel://h/main?sentinel_password=hunter2#"}, "redis.url", "behind a ? or #"},
		{address.Options{URL: "redis-sentinel://h/main?"}, "redis.url", "doesn't know"},
	} {
		_, err := address.Parse(tt.options)
		var wrong *address.Error
		require.ErrorAs(t, err, &wrong, "%+v", tt.options)
		require.Equal(t, tt.key, wrong.Key, "%+v", tt.options)
		require.Contains(t, wrong.Text, tt.says)
		require.Contains(t, wrong.Text, "; ", "what to do stands behind what is wrong")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// No text that begins with a known scheme makes it panic, show a password, or go without TLS where the scheme says so.
func FuzzParse(f *testing.F) {
	for _, rest := range []string{"h", ":hunter2@h:1,g:2/main/0", "[::1]:1/2", "h?db=1", "h,[", "%", "@", ":@:,:/", "h/main?sentinel_password=hunter2&x"} {
		f.Add("rediss", rest)
		f.Add("redis-sentinels", rest)
		f.Add("redis-cluster", rest)
	}
	f.Fuzz(func(t *testing.T, scheme, rest string) {
		a, err := address.Parse(address.Options{URL: scheme + "://:hunter2@" + rest})
		if err != nil {
			require.NotContains(t, err.Error(), "hunter2")
			return
		}
		require.NotEmpty(t, a.Hosts)
		secure := strings.HasPrefix(scheme, "rediss") || strings.HasSuffix(scheme, "rs") || strings.HasSuffix(scheme, "ls")
		require.Equal(t, secure, a.TLS != nil)
	})
}
