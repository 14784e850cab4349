package deploy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// object is what the tests follow of a Kubernetes object.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string // of a ConfigMap
	Spec     struct {
		Template struct{ Spec podSpec }
	}
}

type podSpec struct {
	Containers      []container
	Volumes         []volume
	ServiceLinks    *bool `yaml:"enableServiceLinks"`
	Token           *bool `yaml:"automountServiceAccountToken"`
	Grace           int   `yaml:"terminationGracePeriodSeconds"`
	SecurityContext struct {
		NonRoot bool                  `yaml:"runAsNonRoot"`
		User    string                `yaml:"runAsUser"`
		Group   string                `yaml:"runAsGroup"`
		FSGroup string                `yaml:"fsGroup"`
		Seccomp struct{ Type string } `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
}

type container struct {
	Args            []string
	Env             []struct{ Name, Value string }
	Startup         probe `yaml:"startupProbe"`
	Liveness        probe `yaml:"livenessProbe"`
	Readiness       probe `yaml:"readinessProbe"`
	Resources       struct{ Limits map[string]string }
	Mounts          []mounted `yaml:"volumeMounts"`
	SecurityContext struct {
		Escalation   *bool                   `yaml:"allowPrivilegeEscalation"`
		ReadOnly     bool                    `yaml:"readOnlyRootFilesystem"`
		Capabilities struct{ Drop []string } `yaml:"capabilities"`
	} `yaml:"securityContext"`
	Lifecycle struct {
		PreStop struct {
			Sleep struct{ Seconds int }
		} `yaml:"preStop"`
	}
}

type mounted struct {
	Name string
	At   string `yaml:"mountPath"`
}

type probe struct {
	HTTP struct{ Path, Port string } `yaml:"httpGet"`
	Exec struct{ Command []string }
}

type volume struct {
	Name      string
	ConfigMap struct{ Name string } `yaml:"configMap"`
	Secret    struct {
		Name string `yaml:"secretName"`
		Mode string `yaml:"defaultMode"`
	}
}

// release is a rendering of the chart, which make helm-test holds to it: with the values of helm/wafbot/ci/NAME-values.yaml.
type release []object

func rendered(t *testing.T, name string) (all release) {
	t.Helper()
	text, err := os.ReadFile("helm/rendered/" + name + ".yaml")
	require.NoError(t, err)
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	require.NoError(t, err)
	for {
		var o object
		if err := loader.Load(&o); errors.Is(err, io.EOF) {
			return all
		} else {
			require.NoError(t, err)
		}
		all = append(all, o)
	}
}

// get returns the object of a kind and name.
func (r release) get(t *testing.T, kind, name string) object {
	t.Helper()
	for _, o := range r {
		if o.Kind == kind && o.Metadata.Name == name {
			return o
		}
	}
	require.Fail(t, "no "+kind+" "+name)
	return object{}
}

// toStop is how long a container has from SIGTERM on.
func (p podSpec) toStop(c container) time.Duration {
	return time.Duration(p.Grace-c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
}

// pod is that of a Deployment or StatefulSet, with its only container.
func (r release) pod(t *testing.T, kind, name string) (podSpec, container) {
	t.Helper()
	pod := r.get(t, kind, name).Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	return pod, pod.Containers[0]
}

func TestNoPodRunsWithMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	all := rendered(t, "bundled")
	for kind, name := range map[string]string{"Deployment": "wafbot", "StatefulSet": "wafbot-redis"} {
		pod, c := all.pod(t, kind, name)
		require.True(t, pod.SecurityContext.NonRoot, name)
		require.Equal(t, "RuntimeDefault", pod.SecurityContext.Seccomp.Type, name)
		require.Equal(t, pod.SecurityContext.Group, pod.SecurityContext.FSGroup, "who reads the files that are mounted")
		require.True(t, c.SecurityContext.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, c.SecurityContext.Capabilities.Drop, name)
		for what, allowed := range map[string]*bool{"escalation": c.SecurityContext.Escalation, "a token": pod.Token, "service links": pod.ServiceLinks} {
			require.NotNil(t, allowed, "%s: %s", name, what)
			require.False(t, *allowed, "%s: %s", name, what)
		}
	}
}

// What the chart says again holds what compose.yaml says.
func TestTheChartAgreesWithTheComposeFile(t *testing.T) {
	t.Parallel()
	file, all := compose(t), rendered(t, "bundled")
	pod, bot := all.pod(t, "Deployment", "wafbot")
	require.Equal(t, file.Services["wafbot"].MemLimit, strings.ToLower(strings.TrimSuffix(bot.Resources.Limits["memory"], "i")))
	require.Equal(t, file.Services["wafbot"].StopGracePeriod, pod.toStop(bot))
	_, redis := all.pod(t, "StatefulSet", "wafbot-redis")
	require.Equal(t, file.Services["redis"].Command, redis.Args)
	require.Equal(t, file.Services["redis"].Healthcheck.Test[1:], redis.Readiness.Exec.Command)
}

// The first day shows the least values, which the other tests use.
func TestTheFirstDayShowsValues(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/first-day.md")
	require.NoError(t, err)
	values, err := os.ReadFile("helm/wafbot/ci/socket-values.yaml")
	require.NoError(t, err)
	_, values, _ = bytes.Cut(values, []byte("\n")) // without its comment
	require.Contains(t, string(doc), "```yaml\n"+string(values)+"```\n")
}

// The renderings are of this chart: helm, which is no part of make test, need not make them again to know that.
func TestTheRenderingsAreOfThisChart(t *testing.T) {
	t.Parallel()
	sums, err := os.ReadFile("helm/rendered/chart.sha256")
	require.NoError(t, err)
	want, got := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[path.Clean(file)] = sum
	}
	chart := os.DirFS("helm/wafbot")
	require.NoError(t, fs.WalkDir(chart, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (file == "files" || file == "tests") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(chart, file)
		got[file] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	}))
	require.Equal(t, want, got, "run: UPDATE=1 make helm-test")
}

// The chart starts the latest release.
func TestTheChartIsOfTheLatestRelease(t *testing.T) {
	t.Parallel()
	log, err := os.ReadFile("../CHANGELOG.md")
	require.NoError(t, err)
	latest := regexp.MustCompile(`(?m)^## \[?(\d+\.\d+\.\d+)\]?`).FindStringSubmatch(string(log))
	require.NotNil(t, latest)
	text, err := os.ReadFile("helm/wafbot/Chart.yaml")
	require.NoError(t, err)
	var chart struct {
		Version string
		App     string `yaml:"appVersion"`
	}
	require.NoError(t, yaml.Load(text, &chart))
	require.Equal(t, latest[1], chart.App)
	require.Equal(t, latest[1], chart.Version)
}
