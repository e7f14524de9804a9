package demo_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/demo"
	"github.com/callgate/callgate/providers/openai"
)

// outcome asks a model and reads its answer to the end. The error is nil if it has
// one.
func outcome(ctx context.Context, t *testing.T, p gateway.Provider, model, text string) error {
	t.Helper()
	req, err := gateway.ParseRequest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.Chat(ctx, model, req)
	if err != nil {
		return err
	}
	defer reply.Close()
	for {
		if _, err := reply.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestRateLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := demo.New(demo.Config{Delay: -1})
		oslo, bergen := body(false, "hi Oslo", "", ""), body(false, "hi Bergen", "", "")
		for _, step := range []struct {
			name, body string
			after      time.Duration
			limited    bool
		}{
			{"first", oslo, 0, true},
			{"second", oslo, 0, false},
			{"third", oslo, time.Second, false},
			{"another body", bergen, 30 * time.Second, true},
			{"the first within its minute", oslo, 29*time.Second - 1, false},
			{"the first behind its minute", oslo, 1, true},
			{"the other within its minute", bergen, 0, false},
			{"the first again", oslo, time.Second, false},
		} {
			time.Sleep(step.after)
			err := outcome(t.Context(), t, p, "rate_limited", step.body)
			if e := gateway.AsError(err); (err != nil) != step.limited || err != nil && (e.Kind != gateway.RateLimited || e.RetryAfter != time.Second) {
				t.Errorf("%s: got %v, want limited %v", step.name, err, step.limited)
			}
		}
		if err := outcome(t.Context(), t, demo.New(demo.Config{Delay: -1}), "rate_limited", oslo); err == nil {
			t.Error("another provider: got an answer, want it limited at first")
		}
	})
}

func TestFlaky(t *testing.T) {
	t.Parallel()
	p := fast()
	for i := range 6 {
		err := outcome(t.Context(), t, p, "flaky", body(i%3 == 0, fmt.Sprint("hi ", i), "", ""))
		if want := i%2 == 0; (err != nil) != want || err != nil && gateway.AsError(err).Kind != gateway.Unavailable {
			t.Errorf("request %d: got %v, want it to fail %v", i, err, want)
		}
	}
}

// TestSlow checks when the first token comes, and that the timers count.
func TestSlow(t *testing.T) {
	t.Parallel()
	const tick = time.Millisecond
	for _, tt := range []struct {
		name, model string
		config      demo.Config
		stream      bool
		want        time.Duration
		message     string // of a timeout
	}{
		{"slow whole", "slow", demo.Config{Delay: tick}, false, 3*time.Second + tick, ""},
		{"slow stream", "slow", demo.Config{Delay: tick}, true, 3*time.Second + 16*tick, ""}, // 14 deltas of text, the finish, the end
		{"slow without delays", "slow", demo.Config{Delay: -1}, true, 0, ""},
		{"slow stream, short timer", "slow", demo.Config{Delay: tick, FirstToken: time.Second}, true, time.Second, "no first token within 1s (timeouts.first_token)."},
		{"slow whole, short timer", "slow", demo.Config{Delay: tick, Total: 2 * time.Second}, false, 2 * time.Second, "no complete answer within 2s (timeouts.total)."},
		{"slow whole, short timer of streams", "slow", demo.Config{Delay: tick, FirstToken: time.Second}, false, 3*time.Second + tick, ""},
		{"hang whole", "hang", demo.Config{}, false, 5 * time.Minute, "no complete answer within 5m (timeouts.whole)."},
		{"hang whole, own timer", "hang", demo.Config{Whole: time.Second}, false, time.Second, "no complete answer within 1s (timeouts.whole)."},
		{"hang stream", "hang", demo.Config{}, true, time.Minute, "no first token within 60s (timeouts.first_token)."},
		{"hang without delays", "hang", demo.Config{Delay: -1, FirstToken: time.Hour}, true, time.Hour, "no first token within 1h (timeouts.first_token)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := outcome(t.Context(), t, demo.New(tt.config), tt.model, body(tt.stream, "hi", "", ""))
				if took := time.Since(began); took != tt.want {
					t.Errorf("got %v, want %v", took, tt.want)
				}
				if tt.message == "" {
					if err != nil {
						t.Errorf("got %v, want an answer", err)
					}
					return
				}
				if e := gateway.AsError(err); err == nil || e.Kind != gateway.Timeout || e.Message != `Provider "demo": `+tt.message {
					t.Errorf("got %v, want a timeout with %q", err, tt.message)
				}
			})
		})
	}
}

// TestLeave checks that a model which waits ends with the client.
func TestLeave(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"hang", "slow"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(model, " stream ", stream), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					began := time.Now()
					time.AfterFunc(time.Second, cancel)
					err := outcome(ctx, t, demo.New(demo.Config{}), model, body(stream, "hi", "", ""))
					if e := gateway.AsError(err); err == nil || e.Kind != gateway.Canceled || time.Since(began) != time.Second {
						t.Errorf("got %v after %v, want an error of Kind Canceled after a second", err, time.Since(began))
					}
				})
			})
		}
	}
}

// TestEndStays checks that the error at the end of a reply comes again.
func TestEndStays(t *testing.T) {
	t.Parallel()
	for model, code := range map[string]string{"cut": "upstream_cut", "late_error": "upstream_cut", "slow": "upstream_timeout"} {
		p := demo.New(demo.Config{Delay: time.Nanosecond, FirstToken: time.Nanosecond})
		reply := chat(t.Context(), t, p, model, body(true, "hi", "", ""))
		var first error
		for first == nil {
			_, first = reply.Next()
		}
		if _, again := reply.Next(); again != first || gateway.AsError(again).Code != code {
			t.Errorf("%s: got %v, then %v, want %s twice", model, first, again, code)
		}
		reply.Close()
	}
}

// TestErrorsOfRealUpstream asks an upstream over HTTP that fails as the models do,
// and compares the errors.
func TestErrorsOfRealUpstream(t *testing.T) {
	t.Parallel()
	const timer = 2 * time.Second
	status := func(code int, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if code == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", "1")
			}
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"error":{"message":%q,"type":"t","param":null,"code":null}}`, message)
		}
	}
	limited := status(429, "The demo limits this model; try again in 1s.")
	broken := func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); streamed(t, b) {
			w.Header().Set("Content-Type", "text/event-stream")
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		fmt.Fprint(w, "data: {\"choices\":[]}\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for model, handler := range map[string]http.HandlerFunc{
		"rate_limited":        limited,
		"rate_limited_always": limited,
		"unavailable":         status(503, "The demo has no capacity for this model."),
		"flaky":               status(503, "The demo has no capacity for this model."),
		"auth":                status(401, "Incorrect API key provided: sk-1234."),
		"hang": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the server sees the client leave only then
			<-r.Context().Done()
		},
		"cut":      broken,
		"cut_call": broken,
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(handler)
			defer server.Close()
			upstream, err := openai.New(openai.Config{Name: "demo", BaseURL: server.URL, Timeouts: openai.Timeouts{FirstToken: timer, Total: 2 * timer}})
			if err != nil {
				t.Fatal(err)
			}
			for _, stream := range []bool{false, true} {
				text := body(stream, "What is the weather in Oslo?", weather, "")
				played := demo.New(demo.Config{Delay: -1, FirstToken: timer, Total: 2 * timer})
				got := gateway.AsError(outcome(t.Context(), t, played, model, text))
				want := gateway.AsError(outcome(t.Context(), t, upstream, model, text))
				if !same(got, want) {
					t.Errorf("stream %v: got\n%+v, want\n%+v", stream, got, want)
				}
			}
		})
	}
}

func streamed(t *testing.T, b []byte) bool {
	req, err := gateway.ParseRequest(b)
	if err != nil {
		t.Error(err)
		return false
	}
	return req.Stream
}

// same says whether two errors are the same to the gateway and to clients. The id of
// a request is each upstream's own.
func same(a, b *gateway.Error) bool {
	header := func(h http.Header) http.Header {
		h = h.Clone()
		h.Del("X-Request-Id")
		return h
	}
	return a.Kind == b.Kind && a.Code == b.Code && a.Param == b.Param && a.Message == b.Message && a.Status == b.Status &&
		string(a.Body) == string(b.Body) && a.RetryAfter == b.RetryAfter &&
		maps.EqualFunc(header(a.Header), header(b.Header), func(x, y []string) bool { return fmt.Sprint(x) == fmt.Sprint(y) })
}

// TestUnreadable: what the demo cannot read is said by its field, and not by Go's types.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	p := demo.New(demo.Config{Delay: -1})
	for text, field := range map[string]string{
		`{"model":"m","messages":[{"role":"user","content":5}]}`:                          "messages.content",
		`{"model":"m","messages":[{"role":5,"content":"x"}]}`:                             "messages.role",
		`{"model":"m","messages":{"role":"user"}}`:                                        "messages",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"stream_options":5}`:     "stream_options",
		`{"model":"m","stream":true,"messages":[{"role":"user","content":[{"text":5}]}]}`: "text",
	} {
		e := gateway.AsError(outcome(t.Context(), t, p, "hermes", text))
		if e == nil || e.Kind != gateway.Invalid || !strings.Contains(e.Message, field+":") || strings.Contains(e.Message, "Go ") || strings.Contains(e.Message, "struct") || strings.Contains(e.Message, "a object") {
			t.Errorf("%s: got %v, want %s named", text, e, field)
		}
	}
}
