// Package deploy holds what an operator starts: the image, the compose file, the systemd unit. Its tests start them the same way.
package deploy

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// composeFile has all keys that compose.yaml may have. The tests don't follow others.
type composeFile struct {
	Name     string
	Services map[string]service
	Volumes  map[string]struct{}
}

type service struct {
	Image       string
	Build       struct{ Context, Dockerfile string }
	EnvFile     string `yaml:"env_file"`
	Environment map[string]string
	Command     []string
	Ports       []string
	Volumes     []string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck struct {
		Test              []string
		Interval, Timeout time.Duration
		Retries           int
	}
	User            string
	Restart         string
	MemLimit        string        `yaml:"mem_limit"`
	StopGracePeriod time.Duration `yaml:"stop_grace_period"`
	ReadOnly        bool          `yaml:"read_only"`
	CapDrop         []string      `yaml:"cap_drop"`
	SecurityOpt     []string      `yaml:"security_opt"`
}

// compose reads compose.yaml.
func compose(t *testing.T) (file composeFile) {
	t.Helper()
	text, err := os.ReadFile("compose.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Load(text, &file, yaml.WithKnownFields()))
	return file
}

// assignment is a line of an environment file, also one that is commented out.
var assignment = regexp.MustCompile(`(?m)^(#?)(WAFBOT_[A-Z_]+)=(.*)$`)

func TestNothingRunsWithMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	file := compose(t)
	require.Len(t, file.Services, 2)
	for name, s := range file.Services {
		require.True(t, s.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, s.CapDrop, name)
		require.Contains(t, s.SecurityOpt, "no-new-privileges:true", name)
		require.Equal(t, "unless-stopped", s.Restart, name)
		for _, port := range s.Ports {
			require.Regexp(t, `^127\.0\.0\.1:`, port, "%s is open to the network", name)
		}
	}
	require.Equal(t, "512m", file.Services["wafbot"].MemLimit)
	require.Equal(t, "service_healthy", file.Services["wafbot"].DependsOn["redis"].Condition)
	require.Contains(t, file.Volumes, "redis")
	require.Equal(t, []string{"redis:/data"}, file.Services["redis"].Volumes, "what must outlive the container")
}

func TestTheExampleNamesEveryVariableOnceAndStartsSafely(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("wafbot.env.example")
	require.NoError(t, err)
	reference, err := os.ReadFile("../docs/config.md")
	require.NoError(t, err)
	var offered, documented []string
	for _, line := range assignment.FindAllStringSubmatch(string(example), -1) {
		offered = append(offered, line[2])
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(WAFBOT_[A-Z_]+)`").FindAllStringSubmatch(string(reference), -1) {
		documented = append(documented, row[1])
	}
	require.NotEmpty(t, documented)
	require.ElementsMatch(t, documented, offered)
	require.Contains(t, strings.Split(string(example), "\n"), "WAFBOT_CHANGES=dry_run")
}
