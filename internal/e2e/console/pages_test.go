package console_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/internal/e2e/browser"
	"github.com/callgate/callgate/internal/e2e/gate"
)

// askingPage asks a gateway with the headers of OpenAI's SDK for a stream, and for an error, and shows what came.
const askingPage = `<!doctype html><main id="said">waits</main><script>
const headers = {"content-type": "application/json", "authorization": "Bearer %[2]s", "x-stainless-lang": "js", "x-callgate-max-retries": "1"};
const ask = (body) => fetch("%[1]s/v1/chat/completions", {method: "POST", headers, body: JSON.stringify(body)});
(async () => {
  const say = (text) => document.getElementById("said").textContent = text;
  try {
    const stream = await ask({model: "m", stream: true, messages: [{role: "user", content: "What is the weather in Oslo?"}]});
    const text = await stream.text();
    const wrong = await ask({model: "m", messages: "none"});
    const error = await wrong.json();
    say([stream.status, text.endsWith("data: [DONE]\n\n"), stream.headers.get("x-callgate-model") !== null, wrong.status, error.error.param].join(" "));
  } catch (e) { say(String(e)); }
})();
</script>`

// TestPageOfAnotherOrigin has a page in a browser ask the gateway: one whose origin is named gets the stream, the headers and
// the errors, and another one nothing, whether the gateway asks for keys or not.
func TestPageOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	chromium := browser.New(t)
	const key = "cg-page"
	for _, tt := range []struct {
		name, keys, origin, want string
	}{
		{"named, without keys", "", "%s", "200 true true 400 messages"},
		{"named, with keys", "keys: [{name: page, hash: " + `"` + config.HashKey(key) + `"` + "}]\n", "%s", "200 true true 400 messages"},
		{"any, with keys", "keys: [{name: page, hash: " + `"` + config.HashKey(key) + `"` + "}]\n", `"*"`, "200 true true 400 messages"},
		{"another", "", "https://app.example", "TypeError: Failed to fetch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page := httptest.NewUnstartedServer(nil)
			origin := "http://" + page.Listener.Addr().String()
			if tt.origin == "%s" {
				tt.origin = origin
			}
			g := gate.Serve(t, []byte(tt.keys+"cors_origins: ["+tt.origin+"]\nproviders: {demo: {type: demo}}\nmodels: {m: {targets: [{provider: demo, model: hermes}]}}\n"))
			page.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" { // a browser looks for an icon
					w.WriteHeader(http.StatusNoContent)
					return
				}
				w.Header().Set("content-type", "text/html; charset=utf-8")
				_, _ = io.WriteString(w, fmt.Sprintf(askingPage, g.URL, key))
			})
			page.Start()
			t.Cleanup(page.Close)
			v := browser.NewTab(t, chromium, origin)
			v.Open("/")
			v.Wait(`document.getElementById("said").textContent !== "waits"`)
			if got := v.Text("said"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			v.Expect(g.URL) // the requests to another server, which other pages must not make
		})
	}
}
