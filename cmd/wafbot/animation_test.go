//go:build pictures

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestAnimation plays a denial and what comes of it, and keeps it as frames, with the time that each stands in the list that img2webp reads.
func TestAnimation(t *testing.T) {
	require.NotEmpty(t, *picturesIn, "run make pictures")
	require.NoError(t, os.MkdirAll(*picturesIn, 0o755))
	program := start(t, nil, "demo", "--listen", ":0", "--speed", "60")
	p := openPage(t, program.line(t)+"/#user=rob&channel=waf&account=acme")
	p.emulate(1200, 720, "light")
	const incident = `cardOf("203.0.113.7")`
	f := &film{page: p, of: incident}
	deny := `//*[@data-testid="message"][contains(.,"critical incident")][contains(.,"203.0.113.7")]//*[@data-testid="button"][starts-with(normalize-space(.),"Deny")]`

	p.wait("the card of the incident", incident+` && rate("203.0.113.7", "through") > 0`)
	p.runs(`document.activeElement.blur()`)
	f.until("the traffic is seen", passed(2*time.Second))
	p.ask(deny)
	f.until("the question is read", passed(3*time.Second))
	p.confirm("Deny 203.0.113.7")
	f.until("the source is stopped", `rate("203.0.113.7", "through") === 0 && rate("203.0.113.7", "blocked") > 0`)
	f.until("the card says so", incident+`.innerText.includes("working")`)
	f.until("it is seen", passed(8*time.Second))
	f.write(*picturesIn)
	require.Equal(t, exitDone, program.stop().code)
}

// passed holds in the page when a time has passed.
func passed(d time.Duration) string {
	return fmt.Sprintf(`performance.now() > (window.filming ??= performance.now() + %d)`, d.Milliseconds())
}

// film is what is seen while a story goes on.
type film struct {
	*page

	of     string // the script that finds what stays in view
	frames [][]byte
	stand  []time.Duration // how long each frame stands; of the last one it isn't known yet
	since  time.Time
}

// until takes frames as fast as the browser draws them, until the predicate holds. What looks like the frame before only lengthens it.
func (f *film) until(what, predicate string) {
	f.t.Helper()
	f.runs(`delete window.filming`)
	for began := time.Now(); ; {
		f.runs(`(() => {` + seen + f.of + `.scrollIntoView({ block: "center" })})()`)
		picture, err := chromedp.Run(f.ctx, chromedp.CaptureScreenshot())
		require.NoError(f.t, err)
		f.keep(picture)
		there, err := chromedp.Run(f.ctx, chromedp.Evaluate[bool](`(() => {`+seen+`return Boolean(`+predicate+`)})()`))
		require.NoError(f.t, err)
		if there {
			return
		}
		require.Less(f.t, time.Since(began), patience, "never: "+what)
	}
}

func (f *film) keep(picture []byte) {
	now := time.Now()
	if last := len(f.frames) - 1; last >= 0 {
		f.stand[last] += now.Sub(f.since)
		f.since = now
		if bytes.Equal(f.frames[last], picture) {
			return
		}
	}
	f.since = now
	f.frames, f.stand = append(f.frames, picture), append(f.stand, 0)
}

// write leaves the frames, and the list of them, in a folder below.
func (f *film) write(folder string) {
	f.t.Helper()
	in := filepath.Join(folder, "frames")
	require.NoError(f.t, os.MkdirAll(in, 0o755))
	f.stand[len(f.stand)-1] = 3 * time.Second // before it begins again
	var list bytes.Buffer
	for i, frame := range f.frames {
		path := filepath.Join(in, fmt.Sprintf("%03d.png", i))
		require.NoError(f.t, os.WriteFile(path, frame, 0o644))
		fmt.Fprintf(&list, "-d %d %s\n", max(f.stand[i].Milliseconds(), 20), path)
	}
	require.NoError(f.t, os.WriteFile(filepath.Join(in, "list"), list.Bytes(), 0o644))
}
