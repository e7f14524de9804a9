package adstudio_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/callgate/callgate/internal/e2e/browser"
)

// TestPage makes and refines an ad as a user does, in a browser.
func TestPage(t *testing.T) {
	t.Parallel()
	chromium := browser.New(t)
	r := place{dir: t.TempDir()}.start(t)
	t.Run("keyboard", func(t *testing.T) { keyboard(t, browser.NewTab(t, chromium, r.url)) })
	t.Run("no script", func(t *testing.T) { withoutScript(t, browser.NewTab(t, chromium, r.url)) })
	t.Run("widths", func(t *testing.T) { widths(t, browser.NewTab(t, chromium, r.url)) })
}

const ready = "document.readyState === 'complete' && document.documentElement.classList.contains('script')"

// keyboard goes from a brief to an active version, and touches no mouse.
func keyboard(t *testing.T, v *browser.Tab) {
	v.Open("/")
	v.Wait(ready)
	v.TabTo("Skip to the content")
	v.TabTo("brief")
	v.Press("30 seconds for Baan Coffee in Chiang Mai: warm and unhurried.", "")
	v.TabTo("language")
	v.Press("Th", "document.getElementById('language').value === 'th'")
	v.TabTo("Make the first drafts")
	v.Press("\r", "location.pathname.startsWith('/ads/') && "+ready)
	for id, want := range map[string]string{"voice": "Malee", "music": "96 BPM", "sfx": "Espresso", "main": "Spot for Baan Coffee"} {
		if text := v.Text(id); !strings.Contains(text, want) {
			t.Errorf("got %s %q, want %s in it", id, text, want)
		}
	}
	v.TabTo("message")
	v.Press("Make the music more upbeat", "")
	v.Press("\r", "document.querySelectorAll('.turn .cost').length === 2 && document.querySelectorAll('#music .version').length === 2")
	if at := v.Focused(); at != "message" {
		t.Errorf("got the focus at %q behind the answer, want it in the message", at)
	}
	v.Do(chromedp.Focus(chromedp.CSS("#music")))
	v.TabTo("Activate")
	v.Press("\r", "document.querySelector('#music .active') && "+ready)
	if text := v.Text("music"); !strings.Contains(text, "120 BPM") || strings.Count(text, "Active") != 1 {
		t.Errorf("got %q, want the faster music, and it active", text)
	}
	const costs = "[...document.querySelectorAll('.cost')].map(c => c.innerText).join('|')"
	if text := browser.Value[string](v, costs); !strings.Contains(text, "saved $0.000") || !strings.Contains(text, "4 rounds, 5 calls") || !strings.Contains(text, "rule 1, language th") {
		t.Errorf("got %q, want what each turn has cost, and where it went", text)
	}
}

// withoutScript holds that the forms alone do all of it.
func withoutScript(t *testing.T, v *browser.Tab) {
	browser.Call(v, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	v.Open("/")
	v.Do(chromedp.SetValue(chromedp.CSS("#brief"), "A spot for Joe's <b>Diner</b>, fun and fast"), chromedp.Submit(chromedp.CSS(".brief")))
	v.Wait("location.pathname.startsWith('/ads/') && document.readyState === 'complete'")
	if browser.Value[bool](v, "document.querySelector('main b') !== null") {
		t.Error("the brief is part of the page")
	}
	v.Do(chromedp.SetValue(chromedp.CSS("#message"), "Another effect: rain on a window"), chromedp.Submit(chromedp.CSS(".say")))
	v.Wait("document.querySelectorAll('#sfx .version').length === 2 && document.readyState === 'complete'")
	v.Do(chromedp.Submit(chromedp.CSS("#sfx form")))
	v.Wait("document.querySelector('#sfx .active') && document.readyState === 'complete'")
}

// widths holds that no page is wider than a small telephone, that what may be operated has a
// name, and takes pictures.
func widths(t *testing.T, v *browser.Tab) {
	const unnamed = `[...document.querySelectorAll('input:not([type=hidden]), textarea, select, button, a')].filter(e =>
		!(e.labels?.length || e.innerText.trim() || e.getAttribute('aria-label'))).map(e => e.outerHTML).join()`
	const twice = `[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i).join()`
	v.Open("/")
	ad := browser.Value[string](v, "document.querySelector('.ads a:has(strong)').pathname")
	for _, screen := range []struct {
		name, scheme  string
		width, height int64
	}{{"light", "light", 1280, 900}, {"dark", "dark", 1280, 900}, {"narrow", "light", 360, 740}, {"narrow-dark", "dark", 360, 740}} {
		v.Scheme(screen.scheme)
		v.Size(screen.width, screen.height)
		for name, page := range map[string]string{"list": "/", "ad": ad, "nothing": "/ads/ad_nothing"} {
			v.Open(page)
			v.Wait(ready)
			if wide := browser.Value[int64](v, "document.documentElement.scrollWidth"); wide > screen.width {
				t.Errorf("%s %s: got a page %d wide", screen.name, page, wide)
			}
			for what, expression := range map[string]string{"without a name": unnamed, "with an id of another": twice} {
				if got := browser.Value[string](v, expression); got != "" {
					t.Errorf("%s: got elements %s: %s", page, what, got)
				}
			}
			v.Shoot("adstudio-" + screen.name + "-" + name)
		}
	}
	v.Expect("404")
}
