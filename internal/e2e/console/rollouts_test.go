package console_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/e2e/browser"
	"github.com/callgate/callgate/internal/e2e/gate"
)

// busyConfig has a rollout of two arms that both answer, a route whose two targets share its requests, and keys that
// are made on the page.
const busyConfig = `
admin: {listen: "127.0.0.1:0"}
require_keys: true
store: {kind: sqlite, path: %q}
providers: {local-gpu: {type: demo}, next-gpu: {type: demo}}
models:
  assistant: {targets: [{provider: local-gpu, model: hermes}]}
  shared: {targets: [{provider: local-gpu, model: broken_args, weight: 3}, {provider: next-gpu, model: hermes, weight: 1}]}
rollouts:
  - name: next-model
    match: {models: [assistant]}
    unit: user
    mirror: {percent: 20, arm: next}
    arms:
      - {name: control, weight: 50}
      - {name: next, weight: 50, override: {provider: next-gpu, model: qwen3_coder}}
`

const weatherTools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},` +
	`{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`

// TestBusyInBrowser does an operator's day on the pages, by the keyboard alone: a key is made and used, an arm that works as
// well as its control is stopped and goes on, the scores of models and the requests are read.
func TestBusyInBrowser(t *testing.T) {
	t.Parallel()
	chromium := browser.New(t)
	g := gate.Serve(t, fmt.Appendf(nil, busyConfig, filepath.Join(t.TempDir(), "store.db")))
	v := browser.NewTab(t, chromium, g.Admin)
	key := makeKey(t, v)
	ask := func(model, user, question string) (arm string) {
		t.Helper()
		body := fmt.Sprintf(`{"model":%q,"user":%q,"messages":[{"role":"user","content":%q}],%s}`, model, user, question, weatherTools)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("content-type", "application/json")
		req.Header.Set("authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
			t.Fatalf("got status %d, %s", resp.StatusCode, said)
		}
		return resp.Header.Get("x-callgate-arm")
	}
	arms := map[string]int{}
	for i := range 60 {
		arms[ask("assistant", fmt.Sprint("user-", i), "What is the weather in Oslo?")]++
		ask("shared", fmt.Sprint("user-", i), fmt.Sprintf("What is the weather in Bergen, day %d?", i))
	}
	if arms["next-model/control"] == 0 || arms["next-model/next"] == 0 || len(arms) != 2 {
		t.Fatalf("got the arms %v, want requests in both", arms)
	}
	t.Run("looks", func(t *testing.T) { busyLooks(t, browser.NewTab(t, chromium, g.Admin)) })
	t.Run("refreshed", func(t *testing.T) { busyRefreshed(t, browser.NewTab(t, chromium, g.Admin)) })
	t.Run("keyboard", func(t *testing.T) { busyByKeyboard(t, browser.NewTab(t, chromium, g.Admin), arms) })
}

// makeKey makes a key on the page, by the keyboard alone, and returns it.
func makeKey(t *testing.T, v *browser.Tab) string {
	t.Helper()
	v.Open("/ui")
	v.TabTo("Keys")
	v.Press("\r", "location.pathname === '/ui/keys' && document.readyState === 'complete'")
	v.TabTo("name")
	v.Press("\r", "") // without a name the browser says what is missing
	if at := browser.Value[string](v, "location.pathname + ' ' + document.activeElement.id"); at != "/ui/keys name" {
		t.Errorf("got to %q with an empty form, want to stay", at)
	}
	v.Press("app\r", "document.readyState === 'complete' && document.getElementById('made')")
	key := browser.Value[string](v, "document.querySelector('#made input').value")
	if !strings.HasPrefix(key, "cg-") || !strings.Contains(v.Text("keys"), "app") {
		t.Fatalf("got the key %q, and the keys %q", key, v.Text("keys"))
	}
	return key
}

// busyLooks holds that the pages fit their screens, have names for all there is and enough contrast, and takes pictures.
func busyLooks(t *testing.T, v *browser.Tab) {
	for _, screen := range []struct {
		name, scheme  string
		width, height int64
	}{{"1280-light", "light", 1280, 900}, {"1280-dark", "dark", 1280, 900}, {"360-light", "light", 360, 740}, {"360-dark", "dark", 360, 740}} {
		v.Scheme(screen.scheme)
		v.Size(screen.width, screen.height)
		for _, page := range []string{"/ui/rollouts", "/ui/quality", "/ui/keys", "/ui/requests", "/ui"} {
			v.Open(page)
			if wide := browser.Value[int64](v, "document.documentElement.scrollWidth"); wide > screen.width {
				t.Errorf("%s %s: got a page %d wide", screen.name, page, wide)
			}
			if list := browser.Value[[]string](v, unnamed); len(list) > 0 {
				t.Errorf("%s:\n%s", page, strings.Join(list, "\n"))
			}
			if list := browser.Value[[]string](v, faint); len(list) > 0 {
				t.Errorf("%s %s: got too little contrast:\n%s", screen.name, page, strings.Join(list, "\n"))
			}
			if list := browser.Value[[]string](v, hidden); len(list) > 0 {
				t.Errorf("%s %s: what matters is off to the right:\n%s", screen.name, page, strings.Join(list, "\n"))
			}
			v.Shoot("busy" + strings.ReplaceAll(strings.TrimPrefix(page, "/ui"), "/", "-") + "-" + screen.name)
		}
	}
}

// hidden lists what of a table says how things are, and is not seen unless somebody scrolls to the right.
const hidden = `Array.from(document.querySelectorAll('.scroll')).flatMap((box) => {
	const edge = box.getBoundingClientRect().right;
	return Array.from(box.querySelectorAll('caption span, tbody .badge, tbody button')).filter((e) => e.getBoundingClientRect().right > edge).map((e) => e.closest('section')?.id + ': ' + e.innerText);
})`

// busyRefreshed holds that a table that is fetched anew stays where it was scrolled to, in both directions, and keeps the focus
// of whoever reads it by the keyboard.
func busyRefreshed(t *testing.T, v *browser.Tab) {
	v.Size(360, 740)
	for _, c := range []struct{ page, section, focused string }{
		{"/ui/quality", "tools", ".scroll"}, {"/ui/requests", "filtered", "tbody a"},
	} {
		v.Open(c.page)
		const rule = ".scroll { max-height: 4rem; overflow-y: auto; }" // as if it were long
		browser.Value[int](v, "document.styleSheets[0].insertRule('"+rule+"', document.styleSheets[0].cssRules.length)")
		box := fmt.Sprintf("document.querySelector('#%s .scroll')", c.section)
		browser.Value[int](v, fmt.Sprintf("document.querySelector('#%s %s').focus(), %s.scrollTop = 30, %[3]s.scrollLeft = 40, document.getElementById('%[1]s').dataset.old = 1", c.section, c.focused, box))
		focused := browser.Value[string](v, "document.activeElement.outerHTML.slice(0, 60)")
		v.Wait(fmt.Sprintf("!document.getElementById('%s').dataset.old", c.section))
		if at := browser.Value[string](v, box+".scrollTop + ' ' + "+box+".scrollLeft"); at != "30 40" {
			t.Errorf("%s: got the table at %s behind a refresh, want it where it was", c.page, at)
		}
		if at := browser.Value[string](v, "document.activeElement.outerHTML.slice(0, 60)"); at != focused {
			t.Errorf("%s: got the focus at %q behind a refresh, want it at %q", c.page, at, focused)
		}
	}
}

// busyByKeyboard stops an arm and has it go on, and touches no mouse.
func busyByKeyboard(t *testing.T, v *browser.Tab, arms map[string]int) {
	v.Open("/ui")
	v.TabTo("Rollouts")
	v.Press("\r", "location.pathname === '/ui/rollouts' && document.readyState === 'complete'")
	row := func(arm string) string {
		return browser.Value[string](v, fmt.Sprintf(`Array.from(document.querySelectorAll('#rollout-next-model tbody tr')).find((r) => r.querySelector('th').innerText === %q).innerText`, arm))
	}
	v.Press("\x1b", "") // nothing is open that it might close
	for arm, n := range arms {
		_, name, _ := strings.Cut(arm, "/")
		if text := row(name); !strings.Contains(text, fmt.Sprintf(" %%\t%d\t0 0", n)) {
			t.Errorf("%s: got %q, want %d requests, of which none has failed", arm, text, n)
		}
	}
	for _, step := range []struct{ button, next, want string }{{"stop-next-model-next", "resume-next-model-next", "stopped"}, {"resume-next-model-next", "stop-next-model-next", "not enough data"}} {
		v.TabTo(step.button)
		v.Press("\r", fmt.Sprintf("document.readyState === 'complete' && document.getElementById(%q)", step.next))
		if text := v.Text("main"); !strings.Contains(text, "The arm next-model/next is as the table says now.") {
			t.Errorf("got %q behind %s", text, step.button)
		}
		if text := row("next"); !strings.Contains(text, step.want) {
			t.Errorf("got %q behind %s, want %s", text, step.button, step.want)
		}
	}
	v.TabTo("Quality")
	v.Press("\r", "location.pathname === '/ui/quality' && document.readyState === 'complete'")
	for id, want := range map[string]string{"targets": "local-gpu/broken_args", "tools": "get_weather", "shares": "next-gpu/hermes"} {
		if text := v.Text(id); !strings.Contains(text, want) {
			t.Errorf("%s: got %q, want %s in it", id, text, want)
		}
	}
	v.TabTo("Requests")
	v.Press("\r", "location.pathname === '/ui/requests' && document.readyState === 'complete'")
	id := browser.Value[string](v, "document.querySelector('#filtered tbody a').innerText")
	v.TabTo(id)
	v.Press("\r", "document.title.startsWith('Request ') && document.readyState === 'complete'")
	if text := v.Text("main"); !strings.Contains(text, id) || !strings.Contains(text, "Key\napp") {
		t.Errorf("got %q, want the request of the key", text)
	}
}
