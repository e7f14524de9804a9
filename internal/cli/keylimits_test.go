package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/limit"
)

// TestKeyLimits makes keys and teams with limits at a running gateway that has none in its configuration: they hold
// from the next request on, in the place of none, are shown, go on after a restart, and what is changed holds at
// once, also a budget that is lowered below what is spent.
func TestKeyLimits(t *testing.T) {
	t.Parallel()
	b := &biller{}
	dir := t.TempDir()
	prices := writePrices(t, dir)
	config := fmt.Sprintf("require_keys: true\nstore: {kind: sqlite, path: %q}\nadmin: {listen: \"127.0.0.1:0\"}\nprices: %q\nproviders: {up: {type: openai, base_url: %q, api_key: k}}\n"+
		"models: {m: {targets: [{provider: up, model: real}]}, other: {targets: [{provider: up, model: real}]}, free: {targets: [{provider: up, model: nobody-knows}]}}\n", filepath.Join(dir, "store.db"), prices, b.serve(t, false))
	g := serve(t, config)
	ask := func(key, model string) result { return g.chat(hello(model, ""), bearer(key)...) }
	refused := func(what string, r result, status int, says string) {
		t.Helper()
		if r.status != status || !strings.Contains(r.body, says) {
			t.Errorf("%s: got %d %.400s, want %d and %q", what, r.status, r.body, status, says)
		}
		t.Logf("%s: %d %.200s", what, r.status, r.body)
	}
	passes := func(what string, r result) {
		t.Helper()
		if r.status != http.StatusOK {
			t.Errorf("%s: got %d %.400s, want an answer", what, r.status, r.body)
		}
	}

	two := g.make("create", "two", "--limit", "requests=2/744h", "--limit", "usd=10/month,models=m,models=oth*")
	if r := ask(two, "m"); r.status != http.StatusOK || r.header.Get("x-ratelimit-remaining-requests") != "1" {
		t.Errorf("got %d, %v, want an answer and one request left", r.status, r.header)
	}
	passes("the second", ask(two, "m"))
	refused("the third", ask(two, "m"), 429, `The limit of 2 requests per 744h (key \"two\") is reached`)
	for _, want := range []string{"requests=2/744h usd=10/month,models=m,models=oth*"} {
		if out := g.ctl(0, "key", "list"); !strings.Contains(out, want) {
			t.Errorf("got the list\n%s\nwant %s", out, want)
		}
	}
	if out := regexp.MustCompile(`\s+`).ReplaceAllString(g.ctl(0, "key", "show", "two"), ""); !strings.Contains(out, `"limits":[{"requests":2,"per":"744h"},{"usd":10,"per":"month","models":["m","oth*"]}]`) {
		t.Errorf("got %s", out)
	}
	edit := func(path, body string, status int, says string) {
		t.Helper()
		m := operatorsOn.FindStringSubmatch(g.stdout.String())
		method := "PATCH"
		if strings.HasSuffix(path, "s") {
			method = "POST"
		}
		r, _ := http.NewRequestWithContext(t.Context(), method, m[1]+path, readerOf(body))
		refused(path+" "+body, g.do(r), status, says)
	}
	edit("/admin/keys/two", `{"limits":[{"requests":5,"per":"744h"},{"usd":10,"per":"month"}]}`, 200, `"requests":5`)
	passes("raised", ask(two, "m"))
	refused("a model without a price", ask(two, "free"), 403, "knows no price")

	// A budget that is lowered below what is spent refuses, and says so.
	spent := limit.Dollars(b.total())
	edit("/admin/keys/two", `{"limits":[{"usd":0.005,"per":"month"}]}`, 200, `"usd":0.005`)
	refused("lowered", ask(two, "m"), 429, `The budget of 0.005 USD per month (key \"two\") has no room: `+spent+` USD are used or held, 0 USD are left`)

	// A team's limits are for all its keys together.
	g.ctl(0, "team", "create", "red", "--limit", "requests=2/744h")
	red, blue := g.make("create", "red-1", "--team", "red"), g.make("create", "red-2", "--team", "red", "--limit", "concurrency=4")
	passes("red-1", ask(red, "other"))
	passes("red-2", ask(blue, "other"))
	refused("the team", ask(red, "other"), 429, `The limit of 2 requests per 744h (team \"red\") is reached`)
	if out := g.ctl(0, "team", "list"); !strings.Contains(out, "requests=2/744h") {
		t.Errorf("got the list\n%s", out)
	}
	edit("/admin/teams/red", `{"limits":null}`, 200, `"red"`)
	passes("without the team's limit", ask(red, "other"))

	for body, says := range map[string]string{
		`{"name":"n","limits":[{"requests":-1,"per":"1m"}]}`:                               "limits[0] is wrong: requests: -1 is out of range; it may be from 1 to 1000000000",
		`{"name":"n","limits":[{"requests":1000000001,"per":"1m"}]}`:                       "requests: 1000000001 is out of range",
		`{"name":"n","limits":[{"tokens":99999999999999999999,"per":"1m"}]}`:               "limits[0].tokens",
		`{"name":"n","limits":[{"usd":-5,"per":"month"}]}`:                                 "usd: -5 is out of range; it may be from 0.000001 to 4500000",
		`{"name":"n","limits":[{"usd":1e300,"per":"month"}]}`:                              "usd: 1e+300 is out of range",
		`{"name":"n","limits":[{"usd":5,"per":"1m"}]}`:                                     "the window of a budget is day, week, month or total",
		`{"name":"n","limits":[{"usd":5,"requests":4,"per":"month"}]}`:                     "exactly one of requests, tokens, concurrency and usd",
		`{"name":"n","limits":[{"requests":4}]}`:                                           "per is missing",
		`{"name":"n","limits":[{"requests":4,"per":"10y"}]}`:                               `per is a time from 1s to 744h, such as 1m, or for tokens day, week, month or total, not \"10y\"`,
		`{"name":"n","limits":[{"usd":4,"per":"day"},{"usd":5,"per":"day"}]}`:              "limits[1] is wrong: it counts the same as number 0",
		`{"name":"n","limits":[{"usd":4,"per":"day","on_exceed":"explode"}]}`:              "on_exceed is finish or cut",
		`{"name":"n","limits":[{"usd":4,"pre":"day"}]}`:                                    "is not known here",
		`{"name":"n","limits":[` + strings.Repeat(`{"concurrency":1},`, 8) + `{"usd":1}]}`: "there are 9 limits; at most 8 may be",
	} {
		edit("/admin/keys", body, 400, says)
	}
	for text, says := range map[string]string{"60/1m": "is not written as", "requests=many/1m": "is not a number that fits", "usd=-3/month": "usd: -3 is out of range", "usd=NaN/month": "is not a number", "requests=6/1m,colour=red": "has no \"colour\""} {
		if out := g.ctl(1, "key", "create", "n", "--limit", text); !strings.Contains(out, says) {
			t.Errorf("--limit %s: got %s, want %q", text, out, says)
		}
	}

	// They are in the store, and what is spent in the ledger.
	g.cancel()
	g.wait()
	g = serve(t, config)
	refused("after a restart", ask(two, "m"), 429, `The budget of 0.005 USD per month (key \"two\") has no room: `+spent+` USD are used`)
}
