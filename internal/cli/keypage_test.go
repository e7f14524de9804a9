package cli

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeysPage makes, rotates and blocks a key with forms, as a browser without script does.
func TestKeysPage(t *testing.T) {
	t.Parallel()
	const operator = "cg-operators-key"
	u := newKeptUpstream(t)
	g := serve(t, "admin: {listen: \"127.0.0.1:0\", key_hash: \""+hashOf(operator)+"\"}\nproviders: {up: {type: openai, base_url: "+u.URL+"/v1}}\nmodels: {fast: {targets: [{provider: up}]}}\n"+
		"require_keys: true\nstore: {kind: sqlite, path: "+filepath.Join(t.TempDir(), "store.db")+"}\nteams: {small: {models: [fast], max_tokens: 50}}\nkeys: [{name: yaml, hash: \""+hashOf("cg-yaml")+"\", models: []}]\n")
	m := pageOn.FindStringSubmatch(g.stdout.String())
	send := func(method, path, origin string, form url.Values) result {
		r, err := http.NewRequestWithContext(t.Context(), method, m[1]+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("content-type", "application/x-www-form-urlencoded")
		if origin != "" {
			r.Header.Set("origin", origin)
		}
		r.SetBasicAuth("operator", operator)
		return g.do(r)
	}
	post := func(path string, pairs ...string) result {
		form := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		return send("POST", path, m[1], form)
	}
	made := post("/ui/keys", "name", "app", "team", "small", "models", "fast, other", "max_tokens", "10", "cidr", "127.0.0.1", "expires", "2199-01-31")
	key := keyText.FindString(made.body)
	if made.status != 200 || key == "" || made.header.Get("cache-control") != "no-store" {
		t.Fatalf("got %d %s", made.status, made.body)
	}
	if r := g.chat(hello("fast", ""), bearer(key)...); r.status != 200 {
		t.Errorf("got %d %s with the key", r.status, r.body)
	}
	page := send("GET", "/ui/keys", "", nil)
	for _, want := range []string{"models fast, other; 10 output tokens; from 127.0.0.1", "2199-01-31", key[:15], "models none", "models fast; 50 output tokens", `aria-label="Block app"`, `<option value="small">`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("got a page without %q", want)
		}
	}
	if strings.Contains(page.body, key) || strings.Contains(page.body, `aria-label="Block yaml"`) {
		t.Error("got the key a second time, or a button for a key of the configuration")
	}
	rotated := post("/ui/keys/rotate", "name", "app")
	second := keyText.FindString(rotated.body)
	if second == "" || second == key || g.chat(hello("fast", ""), bearer(key)...).status != 200 || g.chat(hello("fast", ""), bearer(second)...).status != 200 {
		t.Errorf("got %d %s behind a rotation", rotated.status, rotated.body)
	}
	if r := post("/ui/keys/block", "name", "app"); r.status != 303 || r.header.Get("location") != "/ui/keys?blocked=app" || g.chat(hello("fast", ""), bearer(second)...).status != 401 {
		t.Errorf("got %d %s behind a block", r.status, r.header.Get("location"))
	}
	if r := send("GET", "/ui/keys?blocked=app", "", nil); !strings.Contains(r.body, "is blocked from now on") {
		t.Error("got no word of the block")
	}
	if r := post("/ui/keys/unblock", "name", "app"); r.status != 303 || g.chat(hello("fast", ""), bearer(second)...).status != 200 {
		t.Errorf("got %d behind an end of the block", r.status)
	}
	for says, r := range map[string]result{
		"There is a key &#34;app&#34; already":    post("/ui/keys", "name", "app"),
		"must be a whole number from 1 on":        post("/ui/keys", "name", "n", "max_tokens", "-1"),
		"cidr[0] is wrong":                        post("/ui/keys", "name", "n", "cidr", "10.0.0.0/99"),
		"expires is wrong":                        post("/ui/keys", "name", "n", "expires", "soon"),
		"no team &#34;none&#34;":                  post("/ui/keys", "name", "n", "team", "none"),
		"The key &#34;yaml&#34; is in the config": post("/ui/keys/block", "name", "yaml"),
		"There is no key &#34;none&#34;":          post("/ui/keys/rotate", "name", "none"),
		"other sites":                             send("POST", "/ui/keys", "http://evil.example", url.Values{"name": {"n"}}),
	} {
		if r.status < 400 || r.status > 409 || !strings.Contains(r.body, says) {
			t.Errorf("got %d, want %q in\n%s", r.status, says, r.body)
		}
	}
	if strings.Contains(g.stderr.String(), key) || strings.Contains(g.stderr.String(), second) {
		t.Error("got a key in the log")
	}
}
