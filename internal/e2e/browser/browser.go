// Package browser drives Chromium for the tests of pages.
package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/callgate/callgate/internal/install"
)

// patience is how long a test waits for what must come before it says what hangs.
const patience = 5 * time.Minute

// findChromium is where the browser is. On a machine that does nothing but tests it is
// installed first.
func findChromium(ctx context.Context) (string, error) {
	names := []string{os.Getenv("CALLGATE_CHROMIUM")}
	if names[0] == "" {
		names = []string{"chromium", "chromium-browser", "google-chrome"}
	}
	look := func() string {
		for _, name := range names {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		return ""
	}
	missing := install.MissingError{What: "Chromium is not installed",
		Remedy: "apt-get install chromium, or set CALLGATE_CHROMIUM to where it or Chrome is"}
	path := look()
	if path == "" && os.Getenv("CI") != "" && os.Geteuid() == 0 {
		if _, err := install.Command(ctx, "", "apt-get", "install", "-y", "--no-install-recommends", "chromium"); err != nil {
			missing.What += " (" + err.Error() + ")"
		}
		path = look()
	}
	if path == "" {
		return "", missing
	}
	return path, nil
}

// New starts a browser that has nothing of its user's and calls nobody. It ends
// with the test.
func New(t *testing.T) context.Context {
	t.Helper()
	path, err := findChromium(t.Context())
	install.Need(t, err, "CALLGATE_REQUIRE_CHROMIUM")
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR=" + temporary(t)), chromedp.WindowSize(1280, 900)}
	for _, flag := range []string{"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "no-default-browser-check",
		"disable-background-networking", "disable-component-update", "disable-sync", "disable-extensions", "disable-dev-shm-usage", "mute-audio", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	// The list below the address bar is a page of its own in each tab, which costs as much as ours.
	options = append(options, chromedp.Flag("disable-features", "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup"))
	allocator, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		cancel()
		end()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium at %s does not run: %v", path, err)
	}
	return ctx
}

// temporary is a folder for what the browser leaves in the temporary one: that of its lock, each time. Its name is shorter than a
// test's, since there is a socket in it, whose path may not be long.
func temporary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chromium-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Tab is a page of a browser, and what the browser complains of.
type Tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // the library's way to name a tab
	// Base is the address of the page, to which Open adds a path.
	Base string

	mu         sync.Mutex
	complaints []string
}

// NewTab opens a tab for a gateway's page. At the test's end there must be no complaint of
// a script, of the policy or of a request to another server.
func NewTab(t *testing.T, browser context.Context, base string) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	timed, stop := context.WithTimeout(ctx, 2*patience)
	v := &Tab{t: t, ctx: timed, Base: base}
	host := strings.TrimPrefix(base, "http://")
	err := chromedp.Listen(timed, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			v.complain("console: %s", e.Type)
		case *runtime.EventExceptionThrown:
			v.complain("exception: %s", e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			v.complain("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		case *network.EventRequestWillBeSent:
			if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" && u.Host != host {
				v.complain("request to %s", e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		cancel()
		v.mu.Lock()
		defer v.mu.Unlock()
		if len(v.complaints) > 0 {
			t.Errorf("the browser complains:\n%s", strings.Join(v.complaints, "\n"))
		}
	})
	Call(v, network.Enable, network.EnableParams{})
	Call(v, log.Enable, cdp.Empty{})
	Call(v, runtime.Enable, cdp.Empty{})
	return v
}

func (v *Tab) complain(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.complaints = append(v.complaints, fmt.Sprintf(format, args...))
}

// Expect takes complaints that contain a text off the list, and wants one.
func (v *Tab) Expect(text string) {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	before := len(v.complaints)
	v.complaints = slices.DeleteFunc(v.complaints, func(c string) bool { return strings.Contains(c, text) })
	if len(v.complaints) == before {
		v.t.Errorf("got the complaints %q, want one of %q", v.complaints, text)
	}
}

// Do runs actions of the library in the page.
func (v *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	if err := chromedp.Do(v.ctx, actions...); err != nil {
		v.t.Fatal(err)
	}
}

// Call sends a command of the browser's protocol.
func Call[P any](v *Tab, command cdp.Command[P, cdp.Empty], params P) {
	v.t.Helper()
	if _, err := chromedp.Call(v.ctx, command, params); err != nil {
		v.t.Fatal(err)
	}
}

// Open goes to a path and waits until it is there.
func (v *Tab) Open(path string) {
	v.t.Helper()
	v.Do(chromedp.Navigate(v.Base+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// Size makes the window as wide as a screen.
func (v *Tab) Size(width, height int64) {
	v.t.Helper()
	v.Do(chromedp.EmulateViewport(width, height))
}

// Scheme makes the page light or dark.
func (v *Tab) Scheme(name string) {
	v.t.Helper()
	Call(v, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

// Value evaluates an expression in the page.
func Value[T any](v *Tab, expression string) T {
	v.t.Helper()
	out, err := chromedp.Run(v.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// Wait waits until an expression is true. Unlike what the library has for it, it needs no
// scripts in the page, and a page that is left meanwhile is no error.
func (v *Tab) Wait(expression string) {
	v.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok, err := chromedp.Run(v.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")")); err == nil && ok {
			return
		}
	}
	v.t.Fatalf("%s: got no such page within %v", expression, patience)
}

// Text is what a person sees of an element.
func (v *Tab) Text(id string) string {
	v.t.Helper()
	return Value[string](v, fmt.Sprintf("document.getElementById(%q)?.innerText ?? 'there is no such element'", id))
}

// Focused is what has the focus: its id, or its text.
func (v *Tab) Focused() string {
	v.t.Helper()
	return Value[string](v, "document.activeElement.id || document.activeElement.innerText")
}

// TabTo presses Tab until what is wanted has the focus, and holds that what has it can be
// seen to have it.
func (v *Tab) TabTo(want string) {
	v.t.Helper()
	var passed []string
	for range 60 {
		v.Do(chromedp.KeyEvent("\t"))
		at := v.Focused()
		if passed = append(passed, at); at == "main" {
			continue
		}
		const outline = "getComputedStyle(document.activeElement).outlineStyle + ' ' + getComputedStyle(document.activeElement).outlineWidth"
		if outline := Value[string](v, outline); outline != "solid 3px" {
			v.t.Errorf("%q has the focus with the outline %q, want one that is seen", at, outline)
		}
		if at == want {
			return
		}
	}
	v.t.Fatalf("got to %q with Tab, want %q among them", passed, want)
}

// Press presses keys, as a person types them. What leads to another page is waited for
// with after, an expression that becomes true there.
func (v *Tab) Press(keys, after string) {
	v.t.Helper()
	v.Do(chromedp.KeyEvent(keys))
	if after != "" {
		v.Wait(after)
	}
}

// Shoot takes a picture of the whole page for who runs the tests, if CALLGATE_SCREENSHOTS
// names a directory.
func (v *Tab) Shoot(name string) {
	v.t.Helper()
	dir := os.Getenv("CALLGATE_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(v.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600); err != nil { //nolint:gosec // who runs the tests names the directory
		v.t.Fatal(err)
	}
}
