package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAccounts holds that what upstreams count is added up by client, provider and model,
// with the prices of the operator's file, and that a bad file is named with its place.
func TestAccounts(t *testing.T) {
	t.Parallel()
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	write := func(text string) {
		if err := os.WriteFile(prices, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("date: 2026-11-01\nprices:\n  - {model: up, currency: USD, input: 2, cache_read: 1, output: 4}\n")
	url := upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":3600,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":3000}}}`)
	})
	config := "prices: " + prices + "\n" + (&setup{}).String() + "  p: {type: openai, base_url: \"" + url + "\"}\nmodels: {m: {targets: [{provider: p, model: up}]}}\n"
	g := serve(t, config)
	r := g.chat(prompt("m", "Hi", false))
	if got, saved := r.header.Get("x-callgate-cached-tokens"), r.header.Get("x-callgate-saved"); got != "3000/3600" || saved != "0.42;usd=0.003" {
		t.Errorf("got the headers %q and %q, want 3000/3600 and 0.42;usd=0.003", got, saved)
	}
	var got struct {
		Accounts struct {
			Rows []struct {
				Provider, Model string
				InputTokens     int     `json:"input_tokens"`
				CacheReadTokens int     `json:"cache_read_tokens"`
				SavedShare      float64 `json:"saved_share"`
				Money           []struct {
					Currency    string
					List, Saved float64
				}
			}
		}
	}
	r = g.adminDo("GET", "/admin/prefix")
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || len(got.Accounts.Rows) != 1 {
		t.Fatalf("%v: got %s, want one row", err, r.body)
	}
	row := got.Accounts.Rows[0]
	if row.Provider != "p" || row.Model != "up" || row.InputTokens != 3600 || row.CacheReadTokens != 3000 || row.SavedShare < 0.416 || row.SavedShare > 0.417 {
		t.Errorf("got %+v, want 3600 tokens of which 3000 were cached, and 41.7 %% saved", row)
	}
	if m := row.Money; len(m) != 1 || m[0].Currency != "USD" || m[0].List != 0.0072 || m[0].Saved != 0.003 {
		t.Errorf("got %+v, want 0.0072 dollars without a cache and 0.003 saved", m)
	}

	if r := g.adminDo("GET", "/metrics"); !strings.Contains(r.body, "\ncallgate_prompt_list_cost_total{currency=\"USD\",model=\"up\",provider=\"p\"} 0.0072\n") ||
		!strings.Contains(r.body, "\ncallgate_prompt_tokens_total{cache=\"read\",model=\"up\",provider=\"p\"} 3000\n") {
		t.Errorf("got %s, want the tokens and what they would have cost", r.body)
	}

	write("prices:\n  - {model: up, inptu: 2}\n")
	var out, errs buffer
	if status := run(t.Context(), []string{"check", configFile(t, config)}, readerOf(""), &out, &errs); status != exitUsage || !strings.Contains(errs.String(), "prices.yaml:2") {
		t.Errorf("got status %d and %q for a bad file of prices, want %d and its place", status, errs.String(), exitUsage)
	}
}

// TestSavedOfStreams holds that a stream says at its end what the cache has saved, where
// something was read from it and the price is known, and is otherwise left as it is.
func TestSavedOfStreams(t *testing.T) {
	t.Parallel()
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("prices:\n  - {model: up, currency: USD, input: 2, cache_read: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := upstream(t, func(w http.ResponseWriter, r received) {
		cached := 0
		if strings.Contains(r.body, "again") {
			cached = 3000
		}
		w.Header().Set("content-type", events)
		send(w, role+strings.TrimSuffix(stream(healthyText), done),
			fmt.Sprintf(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[],"usage":{"prompt_tokens":3600,"prompt_tokens_details":{"cached_tokens":%d}}}`, cached)+"\n\n"+done)
	})
	g := serve(t, "prices: "+prices+"\n"+(&setup{}).String()+"  p: {type: openai, base_url: \""+url+"\"}\nmodels: {m: {targets: [{provider: p, model: up}]}, free: {targets: [{provider: p}]}}\n")
	for _, c := range []struct{ model, text, want string }{
		{"m", "again", ": callgate mode=repair saved=0.42;usd=0.003\n\n" + done},
		{"m", "first", "}\n\n" + done},
		{"free", "again", "}\n\n" + done},
	} {
		if r := g.chat(prompt(c.model, c.text, true)); !strings.HasSuffix(r.body, c.want) || strings.Count(r.body, ": callgate") != strings.Count(c.want, ": callgate") {
			t.Errorf("%s, %s: got %q, want %q at its end", c.model, c.text, r.body, c.want)
		}
	}
}
