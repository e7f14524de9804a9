package clients_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/providers/providertest/scripted"
)

// vendor is a scripted server, and what the configuration says of it.
type vendor struct {
	name, model string // name is the type of its providers
	serve       func(testing.TB) *scripted.Server
}

func moonshot() vendor { return vendor{"moonshot", "kimi-k2", scripted.Moonshot} }

// vendors are all.
func vendors() []vendor {
	return []vendor{
		{"openai", "gpt-4o", scripted.OpenAI},
		{"azure", scripted.Deployment, scripted.Azure},
		{"qwen", "qwen-plus", scripted.Qwen},
		moonshot(),
		{"anthropic", "claude-sonnet-4-5", scripted.Anthropic},
	}
}

// add adds a provider for the server at an address.
func (v vendor) add(c *config, provider, url string) target {
	c.Providers[provider] = map[string]any{"type": v.name, "base_url": url, "api_key": scripted.Key}
	return target{Provider: provider, Model: v.model}
}

// verdict checks what the upstreams saw, when a client has played its job.
type verdict func(t *testing.T, c client)

// alone has one vendor behind a model.
func alone(v vendor) func(t *testing.T, c *config, model string) verdict {
	return func(t *testing.T, c *config, model string) verdict {
		s := v.serve(t)
		c.route(model, v.add(c, model, s.URL))
		return func(t *testing.T, _ client) { accepted(t, v.name, s, 3) }
	}
}

// text has a server behind a model that gives the calls as the model writes them, in a
// format, and a parser that reads it or none.
func text(format, parser string) func(t *testing.T, c *config, model string) verdict {
	return func(t *testing.T, c *config, model string) verdict {
		s := scripted.Text(t, format)
		c.Providers[model] = map[string]any{"type": "openai", "base_url": s.URL, "api_key": scripted.Key}
		c.route(model, target{Provider: model, Model: "m", Parser: parser})
		turns := 3
		if parser == "none" {
			turns = 1
		}
		return func(t *testing.T, _ client) { accepted(t, "text "+format, s, turns) }
	}
}

// accepted checks that a server got so many requests and refused none.
func accepted(t *testing.T, name string, s *scripted.Server, want int) {
	t.Helper()
	requests := s.Requests()
	if len(requests) != want {
		t.Errorf("got %d requests at %s, want %d", len(requests), name, want)
	}
	for i, r := range requests {
		if r.Status != http.StatusOK {
			t.Errorf("got status %d from %s for request %d, want 200: %s", r.Status, name, i+1, r.Body)
		}
	}
}

// moonshotThen has Moonshot behind a model, and another vendor for the second turn, in
// which Moonshot fails. It does not say for how long, so the third turn is its own again.
func moonshotThen(v vendor) func(t *testing.T, c *config, model string) verdict {
	return func(t *testing.T, c *config, model string) verdict {
		first, other := scripted.Moonshot(t), v.serve(t)
		front := failSecond(t, first.URL)
		c.route(model, moonshot().add(c, model, front), v.add(c, model+"-fallback", other.URL))
		return func(t *testing.T, _ client) {
			accepted(t, "moonshot", first, 2)
			accepted(t, v.name, other, 1)
		}
	}
}

// failSecond stands in front of a server and answers the second request with status
// 503. It returns the address to use in place of the server's.
func failSecond(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	path := u.Path
	u.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(u)
	var n atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The proxy would read the body until its answer begins, and the server closes it then.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("the body cannot be read: %v", err)
		}
		if n.Add(1) == 2 {
			overloaded(w)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL + path
}

// overloaded is an answer with status 503.
func overloaded(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	io.WriteString(w, `{"error":{"message":"The engine is currently overloaded.","type":"engine_overloaded_error"}}`)
}

// unavailable has an upstream behind a model that always answers with status 503 and
// is retried so often. requests is how many must arrive.
func unavailable(retries int, requests func(c client) int) func(t *testing.T, c *config, model string) verdict {
	return func(t *testing.T, c *config, model string) verdict {
		var n atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Retry-After-Ms", "10") // else the SDKs wait for seconds
			overloaded(w)
		}))
		t.Cleanup(s.Close)
		c.Providers[model] = map[string]any{
			"type": "openai", "base_url": s.URL + "/v1", "retry": map[string]any{"max_retries": retries, "base_delay": "1ms"},
			"circuit_breaker": map[string]any{"failure_threshold": 100}, // not open before the SDK gives up
		}
		c.route(model, target{Provider: model, Model: "m"})
		return func(t *testing.T, c client) {
			if got, want := int(n.Load()), requests(c); got != want {
				t.Errorf("got %d requests upstream, want %d", got, want)
			}
		}
	}
}

// demo has a model of the demo behind a model. Its provider is its own: a breaker that
// all failures of the demo had in common would open.
func demo(name string) func(t *testing.T, c *config, model string) verdict {
	return func(_ *testing.T, c *config, model string) verdict {
		c.Providers[model] = map[string]any{"type": "demo"}
		c.route(model, target{Provider: model, Model: name})
		return func(*testing.T, client) {}
	}
}
