package console_test

import (
	"errors"
	"fmt"
	"html"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/console"
	"github.com/callgate/callgate/gateway/history"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/playground"
	"github.com/callgate/callgate/gateway/playground/playgroundtest"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
)

// evil is what somebody writes who wants a page to run it.
const evil = `<script>alert("1")</script>'"><img src=x onerror=alert(1)>{{.}}` + "\u202e\x1b"

// desk is a console whose every text is evil, and what was done with it.
type desk struct {
	*console.Console
	source playground.Source
	reset  []string
}

// evilHistory has a request whose every text is evil.
func evilHistory() *history.History {
	h := history.New(history.Options{})
	bad := &gateway.Verdict{Ghost: true, Tool: evil, Signals: []guard.Signal{{Name: evil, Weight: 1}}}
	h.Request(&gateway.Record{ID: evil, Route: evil, Status: 502, Code: evil, Protocol: evil, Tenant: evil, Took: time.Second, Summary: &gateway.Summary{
		Origin: gateway.Origin{Provider: evil, Model: evil}, Route: &gateway.RouteChoice{Route: evil, Alias: evil},
		Attempts:    []gateway.Attempt{{Provider: evil, Model: evil, Outcome: evil, Reason: evil, Took: time.Second}},
		Corrections: []gateway.Correction{{Tool: evil, Reason: evil}},
		ToolRun:     &gateway.ToolRun{Calls: []gateway.ToolCall{{Server: evil, Tool: evil, Outcome: evil}}},
		Outcome: gateway.Outcome{Guard: bad, Calling: gateway.Calling{Parsers: []string{evil}}, Structured: &gateway.Structured{Result: evil, Class: evil, Path: evil},
			Findings: gateway.Findings{Changed: true, Repairs: map[string]int{evil: 2}, Faults: map[string]int{evil: 2}, Warnings: []string{evil}}},
	}}, history.Money{Currency: evil, Spent: 1})
	return h
}

func newDesk(t *testing.T, change func(*console.Options)) *desk {
	t.Helper()
	d := &desk{source: playgroundtest.New()}
	b := breaker.New(breaker.Settings{Name: evil, Failures: 1})
	pass, _ := b.Allow()
	pass.Done(breaker.Failure, evil)
	o := console.Options{
		Breakers: func() []breaker.Snapshot { return []breaker.Snapshot{b.Snapshot()} },
		ResetParser: func(name string) bool {
			d.reset = append(d.reset, "parser "+name)
			return name == evil
		},
		Reset: func(name string) bool {
			d.reset = append(d.reset, name)
			return name == evil
		},
		Targets: func() []gateway.TargetState {
			return []gateway.TargetState{{Provider: evil, Model: evil, LastOutcome: evil, LastAt: time.Now(), FirstToken: 0.25, Breaker: breaker.Open}, {Provider: "p", Model: "*", Breaker: breaker.Closed}}
		},
		Caches: func() any {
			return map[string]any{"targets": []map[string]any{{"target": evil, "hits": 7}, {evil: true}}, evil: evil, "accounts": map[string]any{"total": 3.5, "other": map[string]any{"a": nil}}}
		},
		Plugins: func() console.Plugins {
			return console.Plugins{Dir: evil, Custom: []string{evil}, Parsers: []console.Parser{
				{Name: evil, Version: evil, Example: evil, Priority: 9, Plugin: evil, State: console.State{Level: console.Bad, Word: evil}, Opened: 12345},
				{Name: "hermes", Example: "<tool_call>{}</tool_call>", State: console.State{Word: "ok"}, P50: 1500},
			}, Files: []console.File{
				{Name: evil, State: console.State{Level: console.Bad, Word: "refused"}, Reason: evil}, {Name: "b", State: console.State{Level: console.Fair, Word: evil}},
				{Name: "d", State: console.State{Word: "loaded"}, SHA256: strings.Repeat("ab", 32)},
			}}
		},
		Tools: func() []catalogue.Status {
			return []catalogue.Status{{Name: evil, Up: true, Version: evil, Listed: time.Now(), Pinned: true, Missing: []toolserver.Missing{{Server: evil, Tool: evil, Why: evil}},
				Tools: []catalogue.ToolStatus{
					{Alias: evil, Name: evil, Description: evil, SHA256: "sha256:" + strings.Repeat("ab", 32), Warnings: []string{evil}},
					{Alias: "held", Quarantine: evil, Diff: "-old\n+" + evil},
				}, Health: catalogue.Health{Calls: 7, LastError: evil, LastAt: time.Now(), Errors: map[toolserver.Kind]int64{toolserver.Timeout: 2, toolserver.Failed: 1}}}, {Name: "away", Problem: evil}}
		},
		Ready: func() error { return nil }, Source: d.source, Version: evil, History: evilHistory(),
		Concerns: func() []console.Concern {
			return []console.Concern{{Level: console.Bad, What: evil, Link: "/ui/caches", See: evil}}
		},
		Budgets: func() []console.Budget {
			return []console.Budget{{Name: evil, Spent: 9, Limit: 10, Unit: evil, Period: evil, Link: "javascript:alert(1)"}}
		},
	}
	if change != nil {
		change(&o)
	}
	var err error
	if d.Console, err = console.New(o); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) do(method, target string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+target, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("content-type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// TestEscaping holds that nothing of what others wrote is HTML on any page, and that what
// hides or turns the text around is shown.
func TestEscaping(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(o *console.Options) { o.Ready = func() error { return errors.New(evil) } })
	ready := newDesk(t, nil)
	tools := `[{"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}, "required": ["` + `<script>` + `"]}}]`
	text := evil + `<tool_call>{"name": "get_weather", "arguments": {"city": "<script>alert(2)</script>"}}</tool_call>`
	pages := map[string]*httptest.ResponseRecorder{
		"overview": d.do("GET", "/ui", nil), "upstreams": d.do("GET", "/ui/upstreams?reset="+url.QueryEscape(evil), nil),
		"requests": d.do("GET", "/ui/requests", nil), "those of a target": d.do("GET", "/ui/requests?target="+url.QueryEscape(evil+"/"+evil), nil),
		"request": d.do("GET", "/ui/requests/"+url.PathEscape(evil), nil),
		"plugins": d.do("GET", "/ui/plugins", nil), "tools": d.do("GET", "/ui/tools", nil), "caches": d.do("GET", "/ui/caches", nil),
		"playground": d.do("GET", "/ui/playground?example="+url.QueryEscape(evil), nil),
		"not ready":  d.do("POST", "/ui/playground", url.Values{"text": {evil}, "tools": {""}}),
		"bad fields": ready.do("POST", "/ui/playground", url.Values{"text": {evil}, "parser": {evil}, "model": {evil}, "seed": {evil}}),
		"no parser":  ready.do("POST", "/ui/playground", url.Values{"text": {evil}, "parser": {evil}}),
		"read":       ready.do("POST", "/ui/playground", url.Values{"text": {text}, "tools": {tools}, "model": {evil}, "cut": {"sixes"}, "random": {"3"}}),
		"different":  ready.do("POST", "/ui/playground", url.Values{"text": {playgroundtest.Uneven + evil}, "tools": {""}, "parser": {playgroundtest.Uneven}}),
		"failed":     ready.do("POST", "/ui/playground", url.Values{"text": {playgroundtest.Broken + evil}, "parser": {playgroundtest.Broken}}),
	}
	for name, w := range pages {
		body := w.Body.String()
		own := strings.Count(body, `<script src="/ui/assets/console.js" defer></script>`)
		if got := strings.Count(strings.ToLower(body), "<script"); got != own || own != 1 {
			t.Errorf("%s: got %d scripts, want the page's own alone:\n%s", name, got, body)
		}
		for _, bad := range []string{"<img", "onerror=alert(1)>", "\u202e", "\x1b"} {
			if strings.Contains(outsideFields(body), bad) {
				t.Errorf("%s: got %q as it is", name, bad)
			}
		}
		if !strings.Contains(body, "&lt;script&gt;") {
			t.Errorf("%s: got no text of others at all, want it as text:\n%s", name, body)
		}
	}
	for name, want := range map[string]string{
		"upstreams": "was reset", "request": "Its way", "plugins": "⟨U+202E⟩", "tools": "held is in quarantine", "read": "The same result", "different": "give another result", "failed": "Not compared",
		"bad fields": "the seed is", "no parser": "there is no parser", "not ready": "cannot be used yet",
	} {
		if !strings.Contains(html.UnescapeString(pages[name].Body.String()), want) {
			t.Errorf("%s: got no %q in\n%s", name, want, pages[name].Body)
		}
	}
}

var fields = regexp.MustCompile(`(?s)<textarea.*?</textarea>|<input [^>]*>|<option.*?</option>|<button [^>]*>|<a [^>]*>|title="[^"]*"`)

// outsideFields is a page without what was typed, which stays as it is.
func outsideFields(body string) string { return fields.ReplaceAllString(body, "") }

// TestHeaders holds that every answer has the page's policies, and that paths and methods
// are checked.
func TestHeaders(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	for _, c := range []struct {
		method, target string
		status         int
		kind           string
	}{
		{"GET", "/ui", 200, "text/html"}, {"HEAD", "/ui/", 200, "text/html"}, {"GET", "/ui/requests", 200, "text/html"}, {"GET", "/ui/requests/req_1", 404, "text/html"}, {"POST", "/ui/requests/req_1", 405, "text/html"}, {"GET", "/ui/upstreams", 200, "text/html"},
		{"GET", "/ui/keys", 404, "text/html"}, {"GET", "/ui/plugins", 200, "text/html"}, {"GET", "/ui/tools", 200, "text/html"}, {"POST", "/ui/tools", 405, "text/html"},
		{"GET", "/ui/caches", 200, "text/html"}, {"GET", "/ui/playground", 200, "text/html"},
		{"GET", "/ui/assets/console.css", 200, "text/css"}, {"GET", "/ui/assets/console.js", 200, "text/javascript"},
		{"GET", "/ui/assets/", 404, "text/html"}, {"GET", "/ui/assets/../pages/layout.html", 404, "text/html"}, {"GET", "/ui/pages/layout.html", 404, "text/html"},
		{"GET", "/uix", 404, "text/html"}, {"GET", "/ui//", 404, "text/html"},
		{"GET", "/ui/breakers/reset", 405, "text/html"}, {"PUT", "/ui/playground", 405, "text/html"}, {"POST", "/ui", 405, "text/html"}, {"TRACE", "/ui", 405, "text/html"},
		{"POST", "/ui/breakers/reset", 404, "text/html"}, {"POST", "/ui/playground", 200, "text/html"},
	} {
		w := d.do(c.method, c.target, url.Values{})
		h := w.Header()
		if w.Code != c.status || !strings.HasPrefix(h.Get("content-type"), c.kind+"; charset=utf-8") {
			t.Errorf("%s %s: got %d %s, want %d %s", c.method, c.target, w.Code, h.Get("content-type"), c.status, c.kind)
		}
		if c.status == http.StatusMethodNotAllowed && h.Get("allow") == "" {
			t.Errorf("%s %s: got no Allow", c.method, c.target)
		}
		for name, want := range map[string]string{
			"content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"x-content-type-options":  "nosniff", "cache-control": "no-store", "referrer-policy": "same-origin", "x-frame-options": "DENY",
			"cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s %s: %s: got %q, want %q", c.method, c.target, name, got, want)
			}
		}
	}
	if len(d.reset) != 1 || d.reset[0] != "" {
		t.Errorf("got resets %q, want none that names a breaker", d.reset)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	w := d.do("POST", "/ui/breakers/reset", url.Values{"name": {evil}})
	if w.Code != http.StatusSeeOther || !slices.Equal(d.reset, []string{evil}) {
		t.Errorf("got %d and resets %q, want the breaker's and a way back", w.Code, d.reset)
	}
	if w := d.do("GET", w.Header().Get("location"), nil); !strings.Contains(w.Body.String(), "was reset") {
		t.Errorf("got no word of the reset: %s", w.Body)
	}
	if w := d.do("GET", "/ui/upstreams?reset=Your+key+was+stolen", nil); strings.Contains(w.Body.String(), "stolen") {
		t.Error("got a page that says what a link wants")
	}
}

// TestLimits holds that long bodies are refused, at both sides of each bound.
func TestLimits(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	most := strings.Repeat("<", playground.MaxText) // three bytes each in a form
	for name, c := range map[string]struct {
		target string
		form   url.Values
		status int
		says   string
	}{
		"the longest":      {"/ui/playground", url.Values{"text": {most}, "tools": {"[" + strings.Repeat(" ", playground.MaxTools-2) + "]"}, "parser": {"none"}}, 200, "The same result"},
		"a longer text":    {"/ui/playground", url.Values{"text": {most + "<"}}, 400, "the text has 1048577 bytes"},
		"longer tools":     {"/ui/playground", url.Values{"tools": {strings.Repeat(" ", playground.MaxTools+1)}}, 400, "the tools have 262145 bytes"},
		"a huge body":      {"/ui/playground", url.Values{"text": {most + most}}, 413, "too long"},
		"a long reset":     {"/ui/breakers/reset", url.Values{"name": {strings.Repeat("x", 5000)}}, 400, "could not be read"},
		"too many cuts":    {"/ui/playground", url.Values{"random": {"201"}}, 400, "from 0 to 200"},
		"an unknown cut":   {"/ui/playground", url.Values{"cut": {"diagonal"}}, 400, "must be whole, bytes, sixes or random"},
		"a negative seed":  {"/ui/playground", url.Values{"seed": {"-1"}}, 400, "the seed is"},
		"tools, no list":   {"/ui/playground", url.Values{"tools": {"{"}}, 400, "tools must be a JSON list"},
		"a finish reason":  {"/ui/playground", url.Values{"finish": {"x"}}, 400, "it must be stop or length"},
		"unknown start":    {"/ui/playground", url.Values{"reasoning": {"x"}}, 400, "it must be auto, open, closed or none"},
		"an empty example": {"/ui/playground", url.Values{}, 200, "Nothing came out"},
	} {
		t.Run(name, func(t *testing.T) { // one after the other, as the playground reads
			w := d.do("POST", c.target, c.form)
			if body := w.Body.String(); w.Code != c.status || !strings.Contains(body, c.says) {
				t.Errorf("got %d %.300s, want %d and %q", w.Code, body, c.status, c.says)
			}
		})
	}
}

// TestPlayground reads as browsers send: lines end as in mail, and what was typed comes
// back, also a line that is empty at the start.
func TestPlayground(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	form := url.Values{
		"text":  {"\r\nHm.\r\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\",}}</tool_call>"},
		"tools": {`[{"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]}}]`}, "parser": {"hermes"}, "seed": {"42"}, "random": {"5"}, "cut": {"random"},
	}
	body := d.do("POST", "/ui/playground", form).Body.String()
	for _, want := range []string{
		"autocomplete=\"off\">\n\nHm.\n&lt;tool_call", `value="42"`, "&#34;name&#34;: &#34;get_weather&#34;", "<code>args_json</code> ×1",
		"all 8 ways to cut it", "seed 42", `<option selected>hermes</option>`, `<option value="random" selected>`, "<code class=\"kind call_end\">",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %q in\n%s", want, body)
		}
	}
	if strings.Contains(body, "\r") {
		t.Error("got a carriage return that no model has written")
	}
}

// slow is a source whose parsers take their time.
type slow struct {
	playground.Source
	began, end chan struct{}
}

func (s slow) Candidates(spec gateway.ParserSpec) (out []chain.Candidate) {
	s.began <- struct{}{}
	<-s.end
	return s.Source.Candidates(spec)
}

// TestOneAtATime holds that the playground reads one text at a time, and tells the others
// to wait.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	s := slow{playgroundtest.New(), make(chan struct{}), make(chan struct{})}
	d := newDesk(t, func(o *console.Options) { o.Source = s })
	form := url.Values{"text": {"hi"}, "parser": {"none"}}
	var first *httptest.ResponseRecorder
	var all sync.WaitGroup
	all.Go(func() { first = d.do("POST", "/ui/playground", form) })
	<-s.began
	if w := d.do("POST", "/ui/playground", form); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "Another text is being read") {
		t.Errorf("got %d, want 503 while another one reads", w.Code)
	}
	close(s.end)
	all.Wait()
	if first.Code != http.StatusOK {
		t.Errorf("got %d for the first, want 200", first.Code)
	}
}

// TestTools holds that the page of tools says how each server is, and what has changed.
func TestTools(t *testing.T) {
	t.Parallel()
	body := html.UnescapeString(newDesk(t, nil).do("GET", "/ui/tools", nil).Body.String())
	for _, want := range []string{"in part", "✕</span> away", "1 in quarantine", "<td class=\"n\">7</td>", "<td class=\"n\">3</td>", "abababababab", "-old\n+"} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %q in\n%s", want, body)
		}
	}
	none := newDesk(t, func(o *console.Options) { o.Tools = func() []catalogue.Status { return nil } }).do("GET", "/ui/tools", nil).Body.String()
	if !strings.Contains(none, "There are no tool servers") {
		t.Errorf("got no word that there are none:\n%s", none)
	}
}

func TestNewNeedsAll(t *testing.T) {
	t.Parallel()
	if _, err := console.New(console.Options{}); err == nil {
		t.Error("got a console without anything to show, want an error")
	}
}

// TestContrast computes what the style's colours have of contrast, light and dark: 4.5 is
// what level AA of the WCAG wants of text.
func TestContrast(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("assets/console.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(b), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("got no dark colours")
	}
	pairs := [][2]string{
		{"ink", "ground"}, {"ink", "panel"}, {"quiet", "ground"}, {"quiet", "panel"}, {"link", "ground"}, {"link", "panel"}, {"ground", "link"},
		{"good", "good-ground"}, {"warn", "warn-ground"}, {"bad", "bad-ground"}, {"good", "ground"}, {"warn", "ground"}, {"bad", "ground"},
		{"quiet", "good-ground"}, {"link", "good-ground"}, {"link", "warn-ground"}, {"link", "bad-ground"}, {"chart", "ground"}, {"quiet", "warn-ground"}, {"quiet", "bad-ground"}, {"focus", "ground"}, {"focus", "panel"},
	}
	for name, css := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6})`).FindAllStringSubmatch(css, -1) {
			colours[m[1]] = luminance(m[2])
		}
		for _, p := range pairs {
			a, okA := colours[p[0]]
			b, okB := colours[p[1]]
			if got := (max(a, b) + 0.05) / (min(a, b) + 0.05); !okA || !okB || got < 4.5 {
				t.Errorf("%s: %s on %s: got contrast %.2f of %v, want 4.5", name, p[0], p[1], got, slices.Sorted(maps.Keys(colours)))
			}
		}
	}
}

// luminance is the relative luminance of a colour, as the WCAG defines it.
func luminance(hex string) float64 {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		panic(fmt.Sprint(hex, err))
	}
	part := func(shift int) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}
