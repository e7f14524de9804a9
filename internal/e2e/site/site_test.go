// Package site has a test alone: it looks at the site of the documents in a browser.
package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/callgate/callgate/internal/e2e/browser"
)

// TestSite searches the site with the keyboard, follows what it finds, and holds that pages are as
// narrow as a telephone, light and dark, and that without scripts there is a list of pages and no
// box that does nothing. A request to anywhere else, and any complaint of the browser, fails it.
func TestSite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "site")
	from, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", "-from", from, "-to", dir)
	cmd.Dir = filepath.Join(from, "internal", "site")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	chromium := browser.New(t)
	t.Run("search", func(t *testing.T) {
		v := browser.NewTab(t, chromium, s.URL)
		v.Open("/docs/keys.html")
		v.TabTo("query")
		for _, key := range "langchain pip" {
			v.Press(string(key), "true")
		}
		v.Wait(`document.querySelector('#results a')?.textContent === 'Clients: LangChain' && document.querySelector('#results mark')`)
		v.Shoot("site-search")
		v.Press("\r", `location.pathname === '/docs/clients.html' && location.hash === '#langchain'`)
		v.Do(chromedp.Navigate(s.URL + "/index.html"))
		v.TabTo("query")
		for _, key := range "zzyzx" {
			v.Press(string(key), "true")
		}
		v.Wait(`document.getElementById('results').innerText.includes('Nothing has all of these words')`)
	})
	t.Run("narrow", func(t *testing.T) {
		v := browser.NewTab(t, chromium, s.URL)
		v.Size(360, 740)
		for _, page := range []string{"/index.html", "/docs/clients.html", "/docs/settings.html", "/docs/formats.html", "/docs/architecture.html", "/docs/quickstart.html"} {
			v.Open(page)
			if got := browser.Value[int](v, "document.documentElement.scrollWidth"); got > 360 {
				t.Errorf("%s: got a page of %d pixels, want 360 at most", page, got)
			}
		}
		v.Shoot("site-narrow")
	})
	t.Run("colours", func(t *testing.T) {
		v := browser.NewTab(t, chromium, s.URL)
		v.Open("/index.html")
		got := map[string]string{}
		for _, scheme := range []string{"light", "dark"} {
			v.Scheme(scheme)
			got[scheme] = browser.Value[string](v, "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color")
			v.Shoot("site-" + scheme)
		}
		if want := map[string]string{"light": "rgb(255, 255, 255)rgb(31, 35, 40)", "dark": "rgb(13, 17, 23)rgb(230, 237, 243)"}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("no scripts", func(t *testing.T) {
		v := browser.NewTab(t, chromium, s.URL)
		browser.Call(v, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		v.Open("/docs/keys.html")
		if !browser.Value[bool](v, "document.getElementById('search').checkVisibility() === false && document.querySelectorAll('nav a').length > 28") {
			t.Error("got a box for searching, or no list of pages, want the list alone")
		}
	})
}
