package cli

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestClientLeaves has the client leave at several points: the upstream, which would wait
// without end, sees it.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, parser := range []string{"none", "auto"} {
		for name, pieces := range map[string][]string{
			"whole":               nil,
			"before the header":   nil,
			"in the stream":       {delta("Hello")},
			"while text is held":  {delta("Hello"), delta(" <tool_")},
			"in a call":           {delta("Hello"), delta(`<tool_call>{"name":"get_weather","argu`)},
			"behind the finish":   {delta("Hello"), finish},
			"in a reasoning text": {": ok\n\n", delta("<think>Let me"), delta(" see")},
		} {
			t.Run(parser+"/"+name, func(t *testing.T) {
				t.Parallel()
				leave(t, parser, name != "whole", pieces)
			})
		}
	}
}

func leave(t *testing.T, parser string, stream bool, pieces []string) {
	t.Helper()
	here, began, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, parser: %s}}", upstream(t, func(w http.ResponseWriter, r received) {
		if pieces != nil {
			w.Header().Set("content-type", events)
			send(w, pieces[0])
			<-began
			send(w, pieces[1:]...)
			time.Sleep(20 * time.Millisecond) // so that the gateway has them
		}
		close(here)
		<-r.Context().Done()
		close(left)
	}), parser))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		resp, err := g.open(ctx, prompt("up/m", "hi", stream))
		if err != nil {
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for n := 0; lines.Scan(); n++ {
			if n == 0 {
				close(began)
			}
		}
	}()
	<-here
	cancel()
	<-ended
	select {
	case <-left:
	case <-time.After(patience):
		t.Error("the upstream never saw that the client had left")
	}
}

// TestClientThatReadsSlowly reads a stream later than its idle timeout: a slow
// client is not a slow upstream.
func TestClientThatReadsSlowly(t *testing.T) {
	t.Parallel()
	text := ""
	for range 4000 {
		text += delta("0123456789012345678901234567890123456789")
	}
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, timeouts: {idle: 1s}}}", static(t, 200, events, text+finish+done)))
	resp, err := g.open(t.Context(), prompt("up/m", "hi", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	time.Sleep(1500 * time.Millisecond)
	n := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); n++ {
	}
	if want := 2 * (4000 + 2); n != want {
		t.Errorf("got %d lines, want %d", n, want)
	}
}
