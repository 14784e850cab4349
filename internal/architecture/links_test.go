package architecture_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

const fenced = "(?ms)^ *(```|~~~).*?^ *(```|~~~) *$"

var (
	fence = regexp.MustCompile(fenced)
	// What looks like a link in code is none.
	code = regexp.MustCompile(fenced + "|``.+?``|`[^`\n]+`")
	// A link or picture of Markdown, the definition of a reference, or a link or picture in HTML.
	link    = regexp.MustCompile(`\]\(<?([^)\s>]+)|(?m:^\[[^\]]+\]: (\S+))|(?:href|src|srcset)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
	marker  = regexp.MustCompile(`(?:id|name)="([^"]+)"`)
	linked  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`) // of which a heading's anchor has the text
	removed = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`)
)

// documents are all that people read, by their path in the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (name == ".git" || name == "bin" || name == "node_modules" || name == "testdata"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		found[filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))] = string(text)
		return err
	}))
	return found
}

// anchors are those that GitHub gives to a document's headings, and those that it names itself.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range marker.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		words := linked.ReplaceAllString(m[1], "$1")
		anchor := strings.ReplaceAll(removed.ReplaceAllString(strings.ToLower(words), ""), " ", "-")
		for n, first := 1, anchor; found[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", first, n)
		}
		found[anchor] = true
	}
	return found
}

// broken says what is wrong with a link in a document; "": nothing.
func broken(document, target string, all map[string]string) string {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return "is no address"
	case u.Scheme == "http", u.Scheme == "https", u.Scheme == "mailto":
		return ""
	case u.Scheme != "" || strings.HasPrefix(u.Path, "/"):
		return "leads out of the repository"
	}
	path := document
	if u.Path != "" {
		path = filepath.ToSlash(filepath.Join(filepath.Dir(document), u.Path))
	}
	if _, err := os.Stat(filepath.Join(root, path)); err != nil {
		return "leads to a file that doesn't exist"
	}
	if u.Fragment != "" && !anchors(all[path])[u.Fragment] {
		return "leads to a heading that doesn't exist"
	}
	return ""
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all, checked := documents(t), 0
	require.Contains(t, all, "README.md")
	require.Contains(t, all, "docs/adr/0001-steps-not-commands.md")
	for document, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			target := m[1] + m[2] + m[3]
			if wrong := broken(document, target, all); wrong != "" {
				t.Errorf("%s: %s %s", document, target, wrong)
			}
			checked++
		}
	}
	require.Greater(t, checked, 100)
}

func TestBrokenLinksAreFound(t *testing.T) {
	t.Parallel()
	all := map[string]string{"README.md": "# A `b`, c!\n\n## Twice\n\n## Twice\n\n```\n# none\n```\n\n## See [more](docs/config.md)\n", "docs/config.md": "<a id=\"here\"></a>"}
	for target, wrong := range map[string]string{
		"#a-b-c": "", "#twice": "", "#twice-1": "", "#see-more": "", "docs/config.md#here": "", "docs/adr": "", "https://example.com/#x": "",
		"#none": "leads to a heading that doesn't exist", "#twice-2": "leads to a heading that doesn't exist", "docs/config.md#there": "leads to a heading that doesn't exist",
		"docs/nowhere.md": "leads to a file that doesn't exist", "/docs/config.md": "leads out of the repository", "file:///etc/passwd": "leads out of the repository", "%zz": "is no address",
	} {
		require.Equal(t, wrong, broken("README.md", target, all), target)
	}
}
