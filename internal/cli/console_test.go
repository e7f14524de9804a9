package cli

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var pageOn = regexp.MustCompile(`in a browser: (http://\S+)/ui\n`)

// TestConsoleOverHTTP reads a text as a form is sent: by the parsers in their sandbox, for
// who has the key and is the page itself, and without a word of the text in the log.
func TestConsoleOverHTTP(t *testing.T) {
	t.Parallel()
	const key, secret = "cg-operators-key", "canary-of-the-text"
	g := serve(t, "admin: {listen: \"127.0.0.1:0\", key_hash: \""+hashed(key)+"\"}\nproviders: {demo: {type: demo}}\nparsers: {mine: {start: \"<<\", end: \">>\", body: json, name_key: name, arguments_key: args}}\nlog: {level: debug}\n")
	m := pageOn.FindStringSubmatch(g.stdout.String())
	if m == nil {
		t.Fatalf("got no address of the page in %s", g.stdout)
	}
	form := url.Values{"text": {`Hm. <<{"name": "get_weather", "args": {"city": "` + secret + `"}}>>`}, "tools": {twoTools}, "parser": {"mine"}, "random": {"10"}, "seed": {"1"}}
	send := func(password, origin string) result {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m[1]+"/ui/playground", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("content-type", "application/x-www-form-urlencoded")
		r.Header.Set("origin", origin)
		r.SetBasicAuth("operator", password)
		return g.do(r)
	}
	for name, c := range map[string]struct {
		password, origin string
		status           int
	}{"the key": {key, m[1], 200}, "another key": {"cg-clients-key", m[1], 401}, "another page": {key, "http://127.0.0.1:1", 403}} {
		r := send(c.password, c.origin)
		if r.status != c.status || !strings.HasPrefix(r.header.Get("content-security-policy"), "default-src 'none'") {
			t.Errorf("%s: got %d %v, want %d and the page's policy", name, r.status, r.header, c.status)
		}
		if read := strings.Contains(r.body, "The same result</strong> from all 13 ways") && strings.Contains(r.body, secret); read != (c.status == 200) {
			t.Errorf("%s: got\n%s", name, r.body)
		}
	}
	if strings.Contains(g.stderr.String(), secret) || strings.Contains(g.stderr.String(), key) {
		t.Errorf("got the text or the key in the log:\n%s", g.stderr)
	}
}
