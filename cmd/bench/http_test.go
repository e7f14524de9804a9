package main

import (
	"context"
	"fmt"
	"io"
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

// upstream is the mock.
func upstream(ctx context.Context, out io.Writer) error { return serveMock(ctx, out, 1<<10) }

// TestUpstream asks the mock, directly and through the proxy, for all that it has, whole and
// streamed. A load checks the answers.
func TestUpstream(t *testing.T) {
	t.Parallel()
	mock := serve(t, upstream)
	proxy := serve(t, func(ctx context.Context, out io.Writer) error { return serveProxy(ctx, out, "http://"+mock) })
	for name, address := range map[string]string{"direct": mock, "proxy": proxy} {
		for _, model := range models() {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s, stream %t", name, model, stream), func(t *testing.T) {
					t.Parallel()
					l, err := newLoad(t.Context(), address, 2, question{chatCompletions, request(model, stream, 16<<10), stream, expect(model, false)})
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
}

func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	mock := serve(t, upstream)
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
			_, err := newLoad(t.Context(), mock, 1, question{chatCompletions, request(tt.model, true, 1<<10), true, tt.want})
			if err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %v, want an error with %q", err, tt.message)
			}
		})
	}
}

// TestLength checks that a load notices an answer that is shorter than the first.
func TestLength(t *testing.T) {
	t.Parallel()
	mock := serve(t, upstream)
	l, err := newLoad(t.Context(), mock, 1, question{chatCompletions, request(modelClean, false, 1<<10), false, expect(modelClean, false)})
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
	mock := serve(t, upstream)
	l, err := newLoad(t.Context(), mock, 4, question{chatCompletions, request(modelSlow, true, 1<<10), true, expect(modelSlow, false)})
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
		if want := chunksOf(model); len(list) != want+1 {
			t.Errorf("%s: %d events, want %d and one with the finish reason", model, len(list), want)
		}
		var got, whole received
		for _, data := range list {
			if err := got.add([]byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		if err := whole.add([]byte(completion(model, modelAnswer(model)))); err != nil {
			t.Fatal(err)
		}
		if want := expect(model, false); got != want || whole != want {
			t.Errorf("%s: got %+v, whole %+v, want %+v", model, got, whole, want)
		}
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
