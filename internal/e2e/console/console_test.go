package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/internal/e2e/browser"
	"github.com/callgate/callgate/internal/e2e/gate"
)

func TestMain(m *testing.M) {
	status := m.Run()
	gate.Clean()
	os.Exit(status)
}

// consoleConfig has a provider that is down, a demo, and caches to look at.
const consoleConfig = `
admin: {listen: "127.0.0.1:0"%s}
providers:
  demo: {type: demo}
  local-vllm: {type: openai, base_url: "http://127.0.0.1:1/v1", retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 1, open_timeout: 10m}}
models:
  chat: {routing: prefix, targets: [{provider: local-vllm, model: qwen3}, {provider: demo, model: hermes}]}
plugins: {dir: "%s"}
`

// serveConsole serves a gateway that has seen requests, and returns the address of the
// operator's page.
func serveConsole(t *testing.T, key string) (base string) {
	t.Helper()
	if key != "" {
		key = `, key_hash: "` + config.HashKey(key) + `"`
	}
	g := gate.Serve(t, fmt.Appendf(nil, consoleConfig, key, t.TempDir()))
	for range 3 {
		resp, err := http.Post(g.URL+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"model": "chat", "messages": [{"role": "user", "content": "What is the weather in Oslo?"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("got status %d, want 200", resp.StatusCode)
		}
	}
	return g.Admin
}

// TestConsoleInBrowser looks at the operator's page as an operator does, in a browser.
func TestConsoleInBrowser(t *testing.T) {
	t.Parallel()
	chromium := browser.New(t)
	base := serveConsole(t, "")
	t.Run("keyboard", func(t *testing.T) { keyboardAlone(t, browser.NewTab(t, chromium, base)) })
	t.Run("evil text", func(t *testing.T) { evilText(t, browser.NewTab(t, chromium, base)) })
	t.Run("widths", func(t *testing.T) { allWidths(t, browser.NewTab(t, chromium, base)) })
	t.Run("named", func(t *testing.T) { allNamed(t, browser.NewTab(t, chromium, base)) })
	t.Run("links", func(t *testing.T) { linksOfTexts(t, browser.NewTab(t, chromium, base)) })
	t.Run("refreshed", func(t *testing.T) { refreshed(t, browser.NewTab(t, chromium, base)) })
	t.Run("no script", func(t *testing.T) { withoutScript(t, browser.NewTab(t, chromium, base)) })
	t.Run("with a key", func(t *testing.T) {
		const key = "cg-operators-key"
		u, err := url.Parse(serveConsole(t, key))
		if err != nil {
			t.Fatal(err)
		}
		v := browser.NewTab(t, chromium, u.String())
		v.Base = "http://operator:" + key + "@" + u.Host
		v.Open("/ui/upstreams")
		resetBreaker(t, v)
	})
}

// keyboardAlone goes from the overview to the calls of an example, and touches no mouse.
func keyboardAlone(t *testing.T, v *browser.Tab) {
	v.Open("/ui")
	v.TabTo("Skip to the content")
	v.TabTo("Playground")
	v.Press("\r", "document.title.startsWith('Playground') && document.readyState === 'complete'")
	v.TabTo("example")
	v.Press("qwen3_c", "document.getElementById('example').value === 'qwen3_coder'")
	v.TabTo("Load the example")
	v.Press("\r", "location.search === '?example=qwen3_coder' && document.readyState === 'complete'")
	v.TabTo("read")
	v.Press("\r", "document.readyState === 'complete' && document.getElementById('verdict')")
	if text := v.Text("calls"); !strings.Contains(text, `"name": "get_weather"`) || !strings.Contains(text, `{\"city\": \"Oslo\"}`) {
		t.Errorf("got the calls %s, want the weather in Oslo", text)
	}
	if text := v.Text("verdict"); !strings.Contains(text, "The same result from all 23 ways to cut it") {
		t.Errorf("got %q, want the same of all cuts", text)
	}
	for id, want := range map[string]string{"places": "qwen3_coder", "steps": "call_end", "times": "qwen3_coder"} {
		if text := v.Text(id); !strings.Contains(text, want) {
			t.Errorf("got %s %q, want %s in it", id, text, want)
		}
	}
	v.TabTo("calls") // what is long can be scrolled
	many := strings.Repeat(`<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>`, 30)
	v.Do(chromedp.SetValue(chromedp.CSS("#text"), many), chromedp.Submit(chromedp.CSS("#play")))
	v.Wait(`document.readyState === 'complete' && document.getElementById('calls')?.textContent.split('get_weather').length > 30`)
	if !browser.Value[bool](v, `document.getElementById('calls').clientHeight < 500 && document.getElementById('calls').scrollHeight > 1000`) {
		t.Error("got 30 calls in a box that grows with them, want one that scrolls")
	}
}

// evilText holds that what a model wrote does nothing in the page that shows it.
func evilText(t *testing.T, v *browser.Tab) {
	v.Open("/ui/playground")
	const text = `<script>window.evil = 1</script><img src=x onerror="window.evil = 2"><tool_call>{"name": "get_weather", "arguments": {"city": "</pre><script>window.evil = 3</script>"}}</tool_call>`
	v.Do(chromedp.SetValue(chromedp.CSS("#text"), text), chromedp.Submit(chromedp.CSS("#play")), chromedp.WaitVisible(chromedp.CSS("#verdict")))
	if browser.Value[bool](v, "'evil' in window || document.images.length > 0") {
		t.Error("the model's text is part of the page")
	}
	if got := v.Text("content"); !strings.HasPrefix(got, `<script>window.evil = 1</script><img src=x`) {
		t.Errorf("got the content %q, want the model's own", got)
	}
}

// allWidths holds that no page is wider than a small telephone, and takes pictures.
func allWidths(t *testing.T, v *browser.Tab) {
	read := func() {
		const text = "Let me check.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\",}}\n</tool_call>\n"
		v.Do(chromedp.SetValue(chromedp.CSS("#text"), text+"and `<tool_call>`\n"+strings.Repeat("x", 500)), chromedp.SetValue(chromedp.CSS("#cut"), "sixes"), chromedp.Submit(chromedp.CSS("#play")), chromedp.WaitVisible(chromedp.CSS("#verdict")))
	}
	for _, screen := range []struct {
		name, scheme  string
		width, height int64
	}{{"light", "light", 1280, 900}, {"dark", "dark", 1280, 900}, {"narrow", "light", 360, 740}} {
		v.Scheme(screen.scheme)
		v.Size(screen.width, screen.height)
		v.Open("/ui/requests")
		request := strings.TrimPrefix(browser.Value[string](v, `document.querySelector('a[href*="/ui/requests/req_"]').getAttribute('href')`), "/ui")
		for _, page := range []string{"", "/requests", request, "/upstreams", "/plugins", "/caches", "/playground", "/nothing"} {
			v.Open("/ui" + page)
			if page == "/playground" {
				read()
			}
			if wide := browser.Value[int64](v, "document.documentElement.scrollWidth"); wide > screen.width {
				t.Errorf("%s /ui%s: got a page %d wide", screen.name, page, wide)
			}
			if list := browser.Value[[]string](v, hidden); len(list) > 0 {
				t.Errorf("%s /ui%s: what matters is off to the right:\n%s", screen.name, page, strings.Join(list, "\n"))
			}
			shot, _, _ := strings.Cut(screen.name+strings.ReplaceAll(page, "/", "-"), "?")
			v.Shoot(shot)
		}
	}
	v.Expect("404")
}

// unnamed lists what a screen reader would have no words for.
const unnamed = `[
	...Array.from(document.querySelectorAll('input:not([type=hidden]), select, textarea')).filter((e) => !e.labels.length).map((e) => 'no label: ' + e.outerHTML),
	...Array.from(document.querySelectorAll('table')).filter((e) => !e.caption?.innerText.trim()).map((e) => 'no caption: ' + e.outerHTML),
	...Array.from(document.querySelectorAll('th')).filter((e) => !e.scope || !e.innerText.trim()).map((e) => 'no scope or text: ' + e.outerHTML),
	...Array.from(document.querySelectorAll('button, a')).filter((e) => !(e.ariaLabel || e.innerText.trim() || e.hidden)).map((e) => 'no name: ' + e.outerHTML),
	...Array.from(document.querySelectorAll('[aria-labelledby]')).filter((e) => !document.getElementById(e.getAttribute('aria-labelledby'))).map((e) => 'named by nothing: ' + e.outerHTML),
	...Array.from(document.querySelectorAll('[tabindex]')).filter((e) => e.tabIndex > 0).map((e) => 'out of order: ' + e.outerHTML),
	...Array.from(document.querySelectorAll('[id]')).filter((e) => document.querySelectorAll('[id="' + CSS.escape(e.id) + '"]').length > 1).map((e) => 'twice: ' + e.id),
	...(document.querySelectorAll('h1').length === 1 && document.documentElement.lang ? [] : ['no heading or language']),
].map((s) => s.slice(0, 200))`

// allNamed holds what a screen reader needs: labels, captions, headings of columns, one
// heading of the page, and no id twice.
func allNamed(t *testing.T, v *browser.Tab) {
	for _, page := range []string{"", "/requests", "/upstreams", "/plugins", "/caches", "/playground"} {
		v.Open("/ui" + page)
		if page == "/playground" {
			v.Do(chromedp.Submit(chromedp.CSS("#play")), chromedp.WaitVisible(chromedp.CSS("#verdict")))
		}
		if list := browser.Value[[]string](v, unnamed); len(list) > 0 {
			t.Errorf("/ui%s:\n%s", page, strings.Join(list, "\n"))
		}
	}
}

// linksOfTexts holds that a link brings what was typed to another page, and that the
// server never hears of it.
func linksOfTexts(t *testing.T, v *browser.Tab) {
	v.Open("/ui/playground")
	const text = "Grüße <tool_call> \u2603"
	browser.Value[bool](v, "Object.defineProperty(navigator, 'clipboard', {value: undefined}) === navigator") // it may not be used: then the address is the link
	v.Do(chromedp.SetValue(chromedp.CSS("#text"), text), chromedp.SetValue(chromedp.CSS("#finish"), "length"), chromedp.Click(chromedp.CSS("#link")))
	v.Wait("location.hash")
	link := browser.Value[string](v, "location.hash")
	v.Open("/ui/plugins")
	v.Open("/ui/playground" + link)
	if got := browser.Value[string](v, "document.getElementById('text').value + ' ' + document.getElementById('finish').value"); got != text+" length" {
		t.Errorf("got %q of the link %q, want what was typed", got, link)
	}
	v.Open("/ui")
	v.Open("/ui/playground#p=%00broken")
	if said := v.Text("linked"); said != "The link is broken." {
		t.Errorf("got %q of a broken link", said)
	}
}

// refreshed holds that tables are fetched anew where they are, and not while paused.
func refreshed(t *testing.T, v *browser.Tab) {
	v.Open("/ui/upstreams")
	browser.Value[int](v, "document.getElementById('reset-demo').focus(), document.querySelector('#breakers').dataset.old = 1")
	v.Wait("!document.querySelector('#breakers').dataset.old")
	if at := v.Focused(); at != "reset-demo" {
		t.Errorf("got the focus at %q behind a refresh, want it where it was", at)
	}
	v.Do(chromedp.Click(chromedp.CSS("#refresh")))
	if pressed := browser.Value[string](v, "document.getElementById('refresh').ariaPressed"); pressed != "false" || v.Text("refreshed") != "paused" {
		t.Errorf("got the button %q and %q, want a pause", pressed, v.Text("refreshed"))
	}
}

// withoutScript uses the page where scripts are off.
func withoutScript(t *testing.T, v *browser.Tab) {
	browser.Call(v, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	v.Open("/ui")
	if !browser.Value[bool](v, "document.getElementById('live').hidden") {
		t.Error("got a button that does nothing without scripts")
	}
	v.Open("/ui/upstreams")
	resetBreaker(t, v)
	v.Open("/ui/playground?example=mistral")
	v.TabTo("read")
	v.Do(chromedp.KeyEvent("\r"), chromedp.WaitVisible(chromedp.CSS("#verdict")))
	if text := v.Text("calls"); !strings.Contains(text, `"name": "get_weather"`) {
		t.Errorf("got the calls %s", text)
	}
}

// resetBreaker closes the breaker of the provider that is down, by its button.
func resetBreaker(t *testing.T, v *browser.Tab) {
	t.Helper()
	if text := v.Text("breakers"); !strings.Contains(text, "open") {
		t.Errorf("got the breakers %q, want one that is open", text)
	}
	v.Do(chromedp.Click(chromedp.CSS("#reset-local-vllm")), chromedp.WaitVisible(chromedp.CSS("[role=status].note")))
	if text := v.Text("main"); !strings.Contains(text, "The breaker local-vllm was reset.") {
		t.Errorf("got %q, want the word that it was reset", text)
	}
	if text := v.Text("changes"); !strings.Contains(text, "closed") {
		t.Errorf("got the changes %q, want that it was closed", text)
	}
}
