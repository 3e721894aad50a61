// Package web_test proves the dashboard in a real browser, on the built program.
package web_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }

// patience ends what hangs.
const patience = 15 * time.Minute

// browserTab is a tab of Chromium. What it says on its console and where it sends
// requests is remembered.
type browserTab struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // it is the tab
	base string

	mu      sync.Mutex
	console []string
	hosts   []string
	// events are the streams of events that are open; changed is closed when they are
	// others.
	events  map[network.RequestID]bool
	changed chan struct{}
}

// open starts a browser for the pages at an address.
func open(t *testing.T, base string) *browserTab {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		testkit.Lacks(t, "Chromium", "there is no chromium; run scripts/test-servers as root, or install it")
	}
	// Processes of a browser that was killed may still write there: it is removed as far
	// as that goes.
	profile, err := os.MkdirTemp("", "sluice-browser-") //nolint:usetesting // it cannot always be removed as a whole
	if err != nil {
		t.Fatal(err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath("chromium"), chromedp.UserDataDir(profile),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.WindowSize(1360, 900))
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	tab, endTab := chromedp.NewContext(allocator)
	ctx, cancel := context.WithTimeout(tab, patience)
	t.Cleanup(func() {
		// The browser is killed: one that is asked to close may take its time.
		endAllocator()
		endTab()
		cancel()
		_ = os.RemoveAll(profile)
	})
	b := &browserTab{t: t, ctx: ctx, base: base, events: map[network.RequestID]bool{}, changed: make(chan struct{})}
	chromedp.ListenTarget(ctx, b.heard)
	b.do(network.Enable(), log.Enable(), runtime.Enable())
	return b
}

func (b *browserTab) heard(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			b.console = append(b.console, string(e.Type)+" "+string(arg.Value))
		}
	case *runtime.EventExceptionThrown:
		b.console = append(b.console, "exception "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		b.console = append(b.console, string(e.Entry.Level)+" "+e.Entry.Text+" "+e.Entry.URL)
	case *network.EventLoadingFailed:
		b.streaming(e.RequestID, false)
	case *network.EventLoadingFinished:
		b.streaming(e.RequestID, false)
	case *network.EventRequestWillBeSent:
		if e.Type == network.ResourceTypeEventSource {
			b.streaming(e.RequestID, true)
		}
		if u, err := url.Parse(e.Request.URL); err == nil && u.Host != "" && !slices.Contains(b.hosts, u.Host) {
			b.hosts = append(b.hosts, u.Host)
		}
	}
}

// streaming notes whether a request is an open stream of events.
func (b *browserTab) streaming(id network.RequestID, open bool) {
	if b.events[id] == open {
		return
	}
	if delete(b.events, id); open {
		b.events[id] = true
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// do carries out actions that must succeed.
func (b *browserTab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		var text string
		last, end := context.WithTimeout(context.WithoutCancel(b.ctx), time.Minute)
		defer end()
		_ = chromedp.Run(last, chromedp.Text("main", &text, chromedp.ByQuery))
		b.t.Fatalf("the browser: %v; the page says: %s", err, text)
	}
}

// goTo opens a page.
func (b *browserTab) goTo(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base+path), chromedp.WaitReady("main", chromedp.ByQuery))
	var twice string
	b.do(chromedp.Evaluate(`[...document.forms].map((form) => [...form.elements].map((e) => e.name).filter((name, i, all) => name && all.indexOf(name) !== i)).flat().join(" ")`, &twice))
	if twice != "" {
		b.t.Errorf("%s has a form with two fields of the name %s", path, twice)
	}
}

// sees waits until the page says something.
func (b *browserTab) sees(text string) {
	b.t.Helper()
	b.do(chromedp.PollFunction(`(text) => document.querySelector("main")?.innerText.toLowerCase().includes(text)`, nil,
		chromedp.WithPollingArgs(strings.ToLower(text)), chromedp.WithPollingTimeout(patience)))
}

// says is the text of what a selector finds.
func (b *browserTab) says(selector string) (text string) {
	b.t.Helper()
	b.do(chromedp.Text(selector, &text, chromedp.ByQuery))
	return text
}

// is evaluates an expression.
func (b *browserTab) is(expression string) (yes bool) {
	b.t.Helper()
	b.do(chromedp.Evaluate(expression, &yes))
	return yes
}

// press clicks on what a selector finds, and waits for the page that it leads to. A
// page that moves exchanges its buttons: it is found and clicked in one step.
func (b *browserTab) press(selector string) {
	b.t.Helper()
	loaded := make(chan struct{}, 1)
	listening, end := context.WithCancel(b.ctx)
	defer end()
	chromedp.ListenTarget(listening, func(event any) {
		if _, is := event.(*page.EventLoadEventFired); is {
			select {
			case loaded <- struct{}{}:
			default:
			}
		}
	})
	b.do(chromedp.PollFunction(`(selector) => { const found = document.querySelector(selector); if (!found) return false; setTimeout(() => found.click()); return true; }`, nil,
		chromedp.WithPollingArgs(selector), chromedp.WithPollingTimeout(patience)))
	select {
	case <-loaded:
	case <-b.ctx.Done():
		b.t.Fatalf("%s leads nowhere", selector)
	}
	b.do(chromedp.WaitReady("main", chromedp.ByQuery))
}

// fill types into fields.
func (b *browserTab) fill(pairs ...string) {
	b.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		b.do(chromedp.SetValue(pairs[i], pairs[i+1], chromedp.ByQuery))
	}
}

// logIn shows a token.
func (b *browserTab) logIn(token string) {
	b.t.Helper()
	b.goTo("/")
	b.fill("#token", token)
	b.press(".stack button")
}

// wasQuiet checks that the browser had nothing to complain about and spoke to nobody
// else.
func (b *browserTab) wasQuiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.console) > 0 {
		b.t.Errorf("on the console: %s", strings.Join(b.console, "\n"))
	}
	home, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(b.hosts) != 1 || b.hosts[0] != home.Host {
		b.t.Errorf("requests went to %v, not to %s alone", b.hosts, home.Host)
	}
}

// toldOf forgets that the browser has noted answers of a status, which were asked for.
func (b *browserTab) toldOf(status int) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.console)
	b.console = slices.DeleteFunc(b.console, func(line string) bool { return strings.Contains(line, fmt.Sprintf("status of %d", status)) })
	if len(b.console) == before {
		b.t.Errorf("no answer had the status %d: %v", status, b.console)
	}
}

// shows has the tab be of a size, light or dark.
func (b *browserTab) shows(width, height int64, phone bool, scheme string) {
	b.t.Helper()
	options := []chromedp.EmulateViewportOption{chromedp.EmulateScale(1)}
	if phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	b.do(chromedp.EmulateViewport(width, height, options...), preferred(scheme))
}

// picture keeps the whole page as PNG.
func (b *browserTab) picture(path string, height int64) {
	b.t.Helper()
	var png []byte
	b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		_, _, _, _, _, size, err := page.GetLayoutMetrics().Do(ctx)
		if err != nil {
			return err
		}
		clip := &page.Viewport{Width: size.Width, Height: min(size.Height, float64(height)), Scale: 1}
		png, err = page.CaptureScreenshot().WithClip(clip).WithCaptureBeyondViewport(true).Do(ctx)
		return err
	}))
	if err := os.WriteFile(path, png, 0o644); err != nil { //nolint:gosec // a picture for everybody
		b.t.Fatal(err)
	}
}
