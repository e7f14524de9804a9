package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// serve runs a server in this process and returns where it listens.
func serve(t *testing.T, run func(context.Context, io.Writer) error) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, out) }()
	t.Cleanup(func() {
		cancel()
		<-done // what it says of its closed listener is of no interest
	})
	buf := make([]byte, 100)
	n, err := said.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(buf[:n])), "http://")
}

// TestUpstream asks the mock, directly and through the proxy, for all that a
// scenario may ask for. A load checks the answers.
func TestUpstream(t *testing.T) {
	t.Parallel()
	mock := serve(t, serveMock)
	proxy := serve(t, func(ctx context.Context, out io.Writer) error { return serveProxy(ctx, out, "http://"+mock) })
	for name, address := range map[string]string{"direct": mock, "proxy": proxy} {
		for _, s := range scenarios() {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				l, err := newLoad(t.Context(), address, 2, request(s.model, s.stream, s.size), s.stream, expect(s.model, false))
				if err != nil {
					t.Fatal(err)
				}
				defer l.close()
				took, err := l.run(t.Context(), 20*time.Millisecond)
				if err != nil || len(took) < 2 {
					t.Errorf("%d answers, %v", len(took), err)
				}
			})
		}
	}
}

func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	mock := serve(t, serveMock)
	tests := []struct {
		name, model string
		want        received
		message     string
	}{
		{"unknown model", "other", received{}, "404"},
		{"other text", modelClean, received{content: "something else"}, "wrong answer"},
		{"no tool call", modelText, expect(modelText, true), "wrong answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := newLoad(t.Context(), mock, 1, request(tt.model, true, 1<<10), true, tt.want)
			if err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %v, want an error with %q", err, tt.message)
			}
		})
	}
}

// TestLength checks that a load notices an answer that is shorter than the first.
func TestLength(t *testing.T) {
	t.Parallel()
	mock := serve(t, serveMock)
	l, err := newLoad(t.Context(), mock, 1, request(modelClean, false, 1<<10), false, expect(modelClean, false))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l[0].want++
	if _, err := l.run(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "bytes, want") {
		t.Errorf("got %v", err)
	}
}

func TestCanceledLoad(t *testing.T) {
	t.Parallel()
	mock := serve(t, serveMock)
	l, err := newLoad(t.Context(), mock, 4, request(modelSlow, true, 1<<10), true, expect(modelSlow, false))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.run(ctx, time.Minute); err == nil {
		t.Error("no error")
	}
}

// TestEvents checks that a stream has as many pieces as its time is divided by, and
// that whole it says the same.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, model := range models() {
		list := events(model)
		if len(list) != chunks+1 {
			t.Errorf("%s: %d events, want %d and one with the finish reason", model, len(list), chunks)
		}
		var got, whole received
		for _, data := range list {
			if err := got.add([]byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		if err := whole.add([]byte(completion(model))); err != nil {
			t.Fatal(err)
		}
		if want := expect(model, false); got != want || whole != want {
			t.Errorf("%s: got %+v, whole %+v, want %+v", model, got, whole, want)
		}
	}
}

// TestRow checks which contenders the figures of a row compare.
func TestRow(t *testing.T) {
	t.Parallel()
	list := make([]*contender, contenders)
	for i, cpu := range []float64{direct: 100, throughProxy: 200, throughOff: 400, throughGateway: 600} {
		list[i] = &contender{p50: []float64{10 * cpu}, p99: []float64{20 * cpu}, cpu: []float64{cpu}}
	}
	want := []figure{1000, 3000, 5000, 2000, 6000, 10000, 2, 4, 6, 3, 1.5}
	for _, s := range []scenario{{stream: true, than: throughProxy, limit: 2}, {stream: true, than: throughOff, limit: 1.5}} {
		got := s.row(list)
		if !slices.Equal(got.figures, want) {
			t.Errorf("got %v, want %v", got.figures, want)
		}
		if met := s.than == throughOff; (got.target.verdict() == "met") != met {
			t.Errorf("%s is %s", got.target, got.target.verdict())
		}
	}
	if got := (scenario{than: throughProxy, limit: 3}).row(list); got.figures[6] != 200 || got.target.verdict() != "met" {
		t.Errorf("a whole answer gives %v, %s", got.figures, got.target.verdict())
	}
}

func TestExpect(t *testing.T) {
	t.Parallel()
	got := expect(modelText, true)
	if got.name != "write_file" || !strings.HasPrefix(got.arguments, `{"path": "cmd/hello/main.go", "content": "// add`) ||
		!strings.HasSuffix(got.arguments, `"}`) || got.finish != "tool_calls" {
		t.Errorf("got %+v", got)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	const call = `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\""}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n: a comment\n\n"
	got, err := read([]byte(call+"data: [DONE]\n\n"), true)
	if want := (received{name: "f", arguments: `{"a":1}`, finish: "tool_calls"}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := read([]byte(call), true); err == nil {
		t.Error("a stream without its end is read")
	}
}
