package console_test

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/console"
	"github.com/callgate/callgate/gateway/console/consoletest"
	"github.com/callgate/callgate/gateway/history"
	"github.com/callgate/callgate/gateway/playground/playgroundtest"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
)

// behind is a console behind a day, with a change.
func behind(t *testing.T, sort consoletest.Sort, change func(o *console.Options)) *desk {
	t.Helper()
	o := consoletest.Options(sort, playgroundtest.New())
	if change != nil {
		change(&o)
	}
	c, err := console.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{Console: c}
}

// get is a page in plain characters.
func (d *desk) get(path string) string {
	return html.UnescapeString(d.do("GET", path, nil).Body.String())
}

// TestConcerns holds that the first page says in a sentence what is wrong, in red where it is, and leads
// to where more is said.
func TestConcerns(t *testing.T) {
	t.Parallel()
	record := func(n int, change func(r *gateway.Record)) func(o *console.Options) {
		return func(o *console.Options) {
			for i := range 100 {
				r := gateway.Record{Status: 200, Summary: &gateway.Summary{Origin: gateway.Origin{Provider: "p", Model: "m"}, Attempts: []gateway.Attempt{{Provider: "p", Model: "m", Outcome: "ok"}}}}
				if i < n {
					change(&r)
				}
				o.History.Request(&r, history.Money{})
			}
		}
	}
	fails := func(code string) func(r *gateway.Record) {
		return func(r *gateway.Record) { r.Status, r.Code, r.Summary.Attempts[0].Outcome = 502, code, code }
	}
	for name, c := range map[string]struct {
		change func(o *console.Options)
		level  string // of the whole
		says   string
		link   string
	}{
		"nothing":       {nil, "good", "Nothing is wrong", ""},
		"parsers":       {func(o *console.Options) { o.Ready = func() error { return errors.New("they are being compiled") } }, "bad", "Parsers cannot be used yet: they are being compiled", "/ui/plugins"},
		"a few failed":  {record(2, fails("upstream_error")), "good", "Nothing is wrong", ""},
		"some failed":   {record(3, fails("upstream_error")), "warn", "3 of 100 requests failed in the last 15 minutes (3.0 %).", "/ui/requests?show=failed"},
		"many failed":   {record(9, fails("upstream_error")), "bad", "9 of 100 requests failed", "/ui/requests?show=failed"},
		"a target":      {record(9, fails("upstream_error")), "bad", "p/m failed 9 of 100 times in the last 15 minutes.", "/ui/requests?target=p%2Fm"},
		"a refused key": {record(1, fails("upstream_auth_error")), "bad", "An upstream refused the gateway's own key. Once in the last 15 minutes.", ""},
		"no money": {record(2, func(r *gateway.Record) {
			r.Summary.Attempts = append([]gateway.Attempt{{Provider: "q", Model: "m", Outcome: "insufficient_quota"}}, r.Summary.Attempts...)
		}), "bad", "An account at an upstream has no money left. Twice in the last 15 minutes.", ""},
		"no memory":                     {record(1, func(r *gateway.Record) { r.Status, r.Code, r.Summary = 503, "memory_spent", nil }), "bad", "The gateway turned a request away for lack of memory (limits.memory). Once", ""},
		"a budget of the gateway's own": {record(3, func(r *gateway.Record) { r.Status, r.Code, r.Summary = 429, "insufficient_quota", nil }), "good", "Nothing is wrong", ""},
		"left alone":                    {record(50, func(r *gateway.Record) { r.Status, r.Code, r.Summary = 401, "invalid_api_key", nil }), "good", "Nothing is wrong", ""},
		"a broken one":                  {record(1, func(r *gateway.Record) { r.Summary.Warnings = []string{"truncated_call"} }), "warn", "1 answer of the last hour could not be repaired.", "/ui/requests?show=broken"},
		"broken ones":                   {record(6, func(r *gateway.Record) { r.Summary.Warnings = []string{"truncated_call"} }), "bad", "6 answers of the last hour could not be repaired.", "/ui/requests?show=broken"},
		"a ghost":                       {record(1, func(r *gateway.Record) { r.Summary.Guard = &gateway.Verdict{Ghost: true} }), "warn", "1 answer of the last hour claimed what no call had done", "/ui/requests?show=ghost"},
		"a parser":                      {record(2, func(r *gateway.Record) { r.Summary.Warnings = []string{"plugin:hermes:time_limit"} }), "warn", "A parser failed twice in the last hour", "/ui/plugins"},
		"a breaker": {func(o *console.Options) {
			o.Breakers = func() []breaker.Snapshot {
				return []breaker.Snapshot{{Name: "p", State: breaker.Open, Since: consoletest.Noon.Add(-time.Hour), ConsecutiveFailures: 5, ReopensIn: 12}}
			}
		}, "bad", "p has been cut off for 1 h: it failed 5 times in a row. It is tried again in 12 s.", "/ui/upstreams"},
		"a breaker that is tried": {func(o *console.Options) {
			o.Breakers = func() []breaker.Snapshot { return []breaker.Snapshot{{Name: "p", State: breaker.HalfOpen}} }
		}, "warn", "p was cut off, and is being tried again.", "/ui/upstreams"},
		"a tool server": {func(o *console.Options) {
			o.Tools = func() []catalogue.Status { return []catalogue.Status{{Name: "calendar"}} }
		}, "bad", "The tool server calendar is away.", "/ui/tools"},
		"changed tools": {func(o *console.Options) {
			o.Tools = func() []catalogue.Status {
				return []catalogue.Status{{Name: "calendar", Up: true, Tools: []catalogue.ToolStatus{{Quarantine: "it has changed"}}}}
			}
		}, "warn", "1 tool of the server calendar changed", "/ui/tools#held"},
		"missing tools": {func(o *console.Options) {
			o.Tools = func() []catalogue.Status {
				return []catalogue.Status{{Name: "calendar", Up: true, Missing: []toolserver.Missing{{}, {}}}}
			}
		}, "warn", "2 tools of the server calendar cannot be offered.", "/ui/tools#missing"},
		"a plugin": {func(o *console.Options) {
			o.Plugins = func() console.Plugins {
				return console.Plugins{Files: []console.File{{Name: "x.wasm", State: console.State{Level: console.Bad, Word: "refused"}, Reason: "no signature."}}}
			}
		}, "bad", "The plugin file x.wasm is refused: no signature.", "/ui/plugins"},
		"a budget near its end": {func(o *console.Options) {
			o.Budgets = func() []console.Budget { return []console.Budget{{Name: "team a", Spent: 8, Limit: 10, Unit: "USD"}} }
		}, "warn", "80 % of the budget of team a is spent.", ""},
		"a budget": {func(o *console.Options) {
			o.Budgets = func() []console.Budget { return []console.Budget{{Name: "team a", Spent: 10, Limit: 10, Unit: "USD"}} }
		}, "bad", "The budget of team a is spent.", ""},
		"a budget without room": {func(o *console.Options) {
			o.Budgets = func() []console.Budget {
				return []console.Budget{{Name: "team a", Spent: 7, Limit: 10, Unit: "USD", Refused: true}}
			}
		}, "bad", "The budget of team a had no room for the last request: 70 % of it is spent.", ""},
		"something else": {func(o *console.Options) {
			o.Concerns = func() []console.Concern {
				return []console.Concern{{Level: console.Bad, What: "The store is away.", Link: "/ui/caches", See: "Caches"}}
			}
		}, "bad", "The store is away.", "/ui/caches"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := behind(t, consoletest.Empty, c.change)
			verdict, _, _ := strings.Cut(d.get("/ui"), "</section>")
			if !strings.Contains(verdict, `<div class="verdict `+c.level+`">`) || !strings.Contains(verdict, c.says) || !strings.Contains(verdict, `href="`+c.link) {
				t.Errorf("got\n%s\nwant %s, %q and a link to %q", verdict, c.level, c.says, c.link)
			}
		})
	}
}

// TestManyConcerns holds that a page of a gateway on which all is wrong stays a page.
func TestManyConcerns(t *testing.T) {
	t.Parallel()
	d := behind(t, consoletest.Empty, func(o *console.Options) {
		o.Concerns = func() (out []console.Concern) {
			for i := range 500 {
				out = append(out, console.Concern{Level: console.Bad, What: fmt.Sprintf("concern %d.", i)})
			}
			return out
		}
	})
	body := d.get("/ui")
	if n := strings.Count(body, ">concern "); n != 12 || !strings.Contains(body, "and 488 more") || !strings.Contains(body, "500 things are wrong") {
		t.Errorf("got %d concerns, want 12 and the number of the others:\n%.3000s", n, body)
	}
}

// TestDays holds that the first page answers its four questions, that its figures are the history's, and
// that no view of it has a figure that is none.
func TestDays(t *testing.T) {
	t.Parallel()
	for name, sort := range map[string]consoletest.Sort{"troubled": consoletest.Troubled, "calm": consoletest.Calm, "empty": consoletest.Empty} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h *history.History
			d := behind(t, sort, func(o *console.Options) { h = o.History })
			for _, w := range []history.Window{history.Hour, history.Day, history.Week} {
				body := d.get("/ui?window=" + w.Name)
				r := h.Read(w)
				if want := fmt.Sprintf("<p class=\"figure\">%s</p>", apart(r.Total.Counts[history.Requests])); !strings.Contains(body, want) {
					t.Errorf("%s: got no %q", w.Name, want)
				}
				for _, k := range r.Of(history.Repair) {
					if want := fmt.Sprintf("<code class=\"quiet\">%s</code></th><td class=\"n\">%s</td>", k.Name, apart(k.Count)); !strings.Contains(body, want) {
						t.Errorf("%s: got no %q", w.Name, want)
					}
				}
				for _, m := range r.Money {
					if want := fmt.Sprintf("<dd>$%.2f</dd>", m.Spent); !strings.Contains(body, want) {
						t.Errorf("%s: got no %q", w.Name, want)
					}
				}
				if bad := regexp.MustCompile(`NaN|Inf|%!|&lt;nil&gt;|no value`).FindString(body); bad != "" {
					t.Errorf("%s: got %s in the page", w.Name, bad)
				}
				if charts := strings.Count(body, `<svg class="spark`); charts != 8+2*len(r.Targets) || strings.Count(body, `role="img" aria-label="`) != charts {
					t.Errorf("%s: got %d charts, want each with words", w.Name, charts)
				}
			}
		})
	}
}

// apart is a number with its thousands apart.
func apart(n uint64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d\u202f%03d", n/1000, n%1000)
}

// TestMenu holds that the navigation leads to pages that are there, and that every link of the first
// pages does.
func TestMenu(t *testing.T) {
	t.Parallel()
	d := behind(t, consoletest.Troubled, nil)
	links := map[string]bool{}
	for _, page := range []string{"/ui", "/ui/requests", "/ui/upstreams", "/ui/requests?show=failed"} {
		for _, m := range regexp.MustCompile(`href="(/[^"#]*)`).FindAllStringSubmatch(d.do("GET", page, nil).Body.String(), -1) {
			links[html.UnescapeString(m[1])] = true
		}
	}
	if len(links) < 50 || links["/ui/keys"] || !links["/ui/upstreams"] || !links["/ui/requests?show=broken"] {
		t.Errorf("got %d links", len(links))
	}
	for link := range links {
		if w := d.do("GET", link, nil); w.Code != 200 {
			t.Errorf("%s: got %d", link, w.Code)
		}
	}
}

// TestRequestsOf holds that the page of requests can be narrowed to what happened and to who was asked,
// and says nothing that only a link says.
func TestRequestsOf(t *testing.T) {
	t.Parallel()
	d := behind(t, consoletest.Troubled, nil)
	rows := func(body string) int { return strings.Count(body, `<th scope="row"><a href="/ui/requests/`) }
	all, failed := rows(d.get("/ui/requests")), rows(d.get("/ui/requests?show=failed"))
	at, none := d.get("/ui/requests?target=sglang%2Fdeepseek-v3.2"), d.get("/ui/requests?target=Your+key+was+stolen")
	if all < 200 || failed == 0 || failed >= all || rows(at) == 0 || rows(at) >= all || rows(none) != 0 || strings.Contains(none, "stolen") {
		t.Errorf("got %d rows, %d that failed, %d of a target, %d of nobody", all, failed, rows(at), rows(none))
	}
	if both := d.get("/ui/requests?show=failed&target=sglang%2Fdeepseek-v3.2"); rows(both) == 0 || rows(both) > failed {
		t.Errorf("got %d rows of both", rows(both))
	}
}

// TestOddIDs holds that ids which clients choose lead to their pages, whatever they are.
func TestOddIDs(t *testing.T) {
	t.Parallel()
	ids := []string{"..", ".", "a/b", "a?b#c", "%2e%2e/", "x y", "twice", "twice", "", "/", evil}
	d := behind(t, consoletest.Empty, func(o *console.Options) {
		for i, id := range ids {
			o.History.Request(&gateway.Record{ID: id, Status: 502, Code: fmt.Sprintf("code_%d", i)}, history.Money{})
		}
	})
	body := d.do("GET", "/ui/requests", nil).Body.String()
	links := regexp.MustCompile(`<th scope="row"><a href="([^"]+)">`).FindAllStringSubmatch(body, -1)
	if len(links) != len(ids) {
		t.Fatalf("got %d links, want %d", len(links), len(ids))
	}
	for i, link := range links { // the newest is first
		w := d.do("GET", html.UnescapeString(link[1]), nil)
		if want := fmt.Sprintf("code_%d", len(ids)-1-i); w.Code != 200 || !strings.Contains(w.Body.String(), "<code>"+want+"</code>") {
			t.Errorf("%q: got %d from %s, want the page of %s", ids[len(ids)-1-i], w.Code, link[1], want)
		}
	}
}
