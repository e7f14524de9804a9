package console_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"github.com/callgate/callgate/gateway/console"
	"github.com/callgate/callgate/gateway/console/consoletest"
	"github.com/callgate/callgate/gateway/playground/playgroundtest"
	"github.com/callgate/callgate/internal/e2e/browser"
)

// serveDay serves the operator's page behind a day of mixed traffic.
func serveDay(t *testing.T, sort consoletest.Sort) (base string) {
	t.Helper()
	c, err := console.New(consoletest.Options(sort, playgroundtest.New()))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return s.URL
}

// TestStoryInBrowser looks at the first page behind a day of mixed traffic, light and dark, on a desk
// and on a small telephone, and takes pictures for who wants to look too.
func TestStoryInBrowser(t *testing.T) {
	t.Parallel()
	chromium := browser.New(t)
	days := map[string]string{"troubled": serveDay(t, consoletest.Troubled), "calm": serveDay(t, consoletest.Calm), "empty": serveDay(t, consoletest.Empty)}
	for day, base := range days {
		t.Run(day, func(t *testing.T) { storyWidths(t, browser.NewTab(t, chromium, base), day) })
	}
	t.Run("contrast", func(t *testing.T) { contrasts(t, browser.NewTab(t, chromium, days["troubled"])) })
	t.Run("answers", func(t *testing.T) { answersAtOnce(t, browser.NewTab(t, chromium, days["troubled"])) })
	t.Run("keyboard", func(t *testing.T) { wayByKeyboard(t, browser.NewTab(t, chromium, days["troubled"])) })
	t.Run("no script", func(t *testing.T) { storyWithoutScript(t, browser.NewTab(t, chromium, days["troubled"])) })
}

func storyWidths(t *testing.T, v *browser.Tab, day string) {
	for _, screen := range []struct {
		name, scheme  string
		width, height int64
	}{{"1280-light", "light", 1280, 900}, {"1280-dark", "dark", 1280, 900}, {"360-light", "light", 360, 740}, {"360-dark", "dark", 360, 740}} {
		v.Scheme(screen.scheme)
		v.Size(screen.width, screen.height)
		v.Open("/ui")
		pages := []string{"/ui", "/ui?window=hour", "/ui?window=week", "/ui/requests", "/ui/upstreams"}
		last := browser.Value[[]string](v, "Array.from(document.querySelectorAll('#last tbody a')).map((a) => a.getAttribute('href'))")
		pages = append(pages, last[:min(len(last), 8)]...)
		for _, page := range pages {
			v.Open(page)
			if wide := browser.Value[int64](v, "document.documentElement.scrollWidth"); wide > screen.width {
				t.Errorf("%s %s: got a page %d wide", screen.name, page, wide)
			}
			if list := browser.Value[[]string](v, unnamed); len(list) > 0 {
				t.Errorf("%s:\n%s", page, strings.Join(list, "\n"))
			}
			path, query, _ := strings.Cut(page, "?")
			name := "story" + strings.ReplaceAll(strings.TrimPrefix(path, "/ui"), "/", "-")
			if window, ok := strings.CutPrefix(query, "window="); ok {
				name += "-" + window
			}
			if strings.HasPrefix(path, "/ui/requests/") {
				if page != last[0] {
					continue
				}
				name = "story-request"
			}
			v.Shoot(name + "-" + day + "-" + screen.name)
		}
	}
}

// faint computes what each text of the page has of contrast to what is behind it, and lists those with too little: 4.5 is
// what level AA of the WCAG wants, 3 of large text.
const faint = `(() => {
	const rgb = (c) => c.match(/[\d.]+/g).map(Number);
	const light = (c) => rgb(c).slice(0, 3).map((x) => { x /= 255; return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }).reduce((s, x, i) => s + x * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return getComputedStyle(e).backgroundColor; } return 'rgb(255, 255, 255)'; };
	const out = [];
	for (const e of document.querySelectorAll('body *')) {
		if (!Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim()) || e.closest('svg') || e.closest('.unseen, .skip')) continue;
		const style = getComputedStyle(e), a = light(style.color), b = light(behind(e));
		const got = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size = parseFloat(style.fontSize);
		if (got < (size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5)) out.push(got.toFixed(2) + ' ' + e.outerHTML.slice(0, 120));
	}
	return out;
})()`

// contrasts holds that all texts can be read.
func contrasts(t *testing.T, v *browser.Tab) {
	for _, scheme := range []string{"light", "dark"} {
		v.Scheme(scheme)
		for _, page := range []string{"/ui", "/ui/requests", "/ui/requests?show=failed", "/ui/upstreams"} {
			v.Open(page)
			if list := browser.Value[[]string](v, faint); len(list) > 0 {
				t.Errorf("%s %s: got too little contrast:\n%s", scheme, page, strings.Join(list, "\n"))
			}
		}
	}
}

// answersAtOnce holds that the four questions are answered in the first screen and a half of a desk,
// and that trouble is what is seen first.
func answersAtOnce(t *testing.T, v *browser.Tab) {
	v.Size(1280, 900)
	v.Open("/ui")
	for id, want := range map[string][]string{
		"verdict":  {"things are wrong", "sglang has been cut off for 6 min", "tickets is away", "configuration was refused", "budget of team ad-studio"},
		"figures":  {"Failed", "Repaired", "Ghost calls", "Retries and fallbacks", "First token"},
		"repaired": {"wrote as text", "not quite JSON"},
		"saved":    {"Spent", "prompt caches", "response cache", "team ad-studio"},
		"models":   {"deepseek-v3.2", "Qwen/Qwen3-32B"},
	} {
		text := v.Text(id)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: got no %q in %q", id, w, text)
			}
		}
		if top := browser.Value[float64](v, "document.getElementById('"+id+"').getBoundingClientRect().top"); top > 1350 {
			t.Errorf("%s begins at %v, want it within a screen and a half", id, top)
		}
	}
	if top := browser.Value[float64](v, "document.querySelector('#verdict h2').getBoundingClientRect().top"); top > 200 {
		t.Errorf("the verdict is at %v, want it at the top", top)
	}
	if bottom := browser.Value[float64](v, "document.getElementById('figures').getBoundingClientRect().bottom"); bottom > 900 {
		t.Errorf("the figures end at %v, want them on the first screen", bottom)
	}
}

// wayByKeyboard goes from the first page to the way of a request that failed, and touches no mouse.
func wayByKeyboard(t *testing.T, v *browser.Tab) {
	v.Open("/ui")
	v.TabTo("Requests")
	v.Press("\r", "location.pathname === '/ui/requests' && document.readyState === 'complete'")
	failed := browser.Value[string](v, "Array.from(document.querySelectorAll('.choices a')).find((a) => a.innerText.startsWith('Failed')).innerText")
	v.TabTo(failed)
	v.Press("\r", "location.search === '?show=failed' && document.readyState === 'complete'")
	id := browser.Value[string](v, "document.querySelector('#filtered tbody a').innerText")
	v.TabTo(id)
	v.Press("\r", "document.title.startsWith('Request ') && document.readyState === 'complete'")
	text := v.Text("main")
	for _, want := range []string{id, "Its way", "first try", "Went out with status 502"} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in\n%s", want, text)
		}
	}
}

// storyWithoutScript holds that the page is all there, and comes anew, where scripts are off.
func storyWithoutScript(t *testing.T, v *browser.Tab) {
	browser.Call(v, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	v.Open("/ui?window=week")
	if n := browser.Value[int](v, "document.querySelectorAll('svg.spark').length"); n < 10 {
		t.Errorf("got %d charts, want them all", n)
	}
	if !browser.Value[bool](v, "document.querySelector('noscript meta[http-equiv=refresh]')?.content === '60'") {
		t.Error("got a page that stays as it is")
	}
	if text := v.Text("figures"); !strings.Contains(text, "week") && !strings.Contains(text, "this gateway started") {
		t.Errorf("got %q, want what the figures are of", text)
	}
}
