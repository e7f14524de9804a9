package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// slowStream is an upstream that sends the first half of a text, tells that it has,
// and waits for more before it sends the second.
func slowStream(t *testing.T, more chan struct{}, text string) string {
	t.Helper()
	all := pieces(text, 6)
	return upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		half := len(all) / 2
		for _, p := range all[:half] {
			send(w, delta(p))
			time.Sleep(5 * time.Millisecond)
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
		for _, p := range all[half:] {
			send(w, delta(p))
		}
		send(w, finish+done)
	})
}

const longText = "This text is long enough to be under way when the end comes. " + hermesCall

// TestShutdown ends the gateway while a stream runs: no new request is taken, and
// the stream comes to its end.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for _, parser := range []string{"none", "auto"} {
		t.Run(parser, func(t *testing.T) {
			t.Parallel()
			more := make(chan struct{})
			g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, parser: %s, timeouts: {idle: 10s}}}", slowStream(t, more, longText), parser))
			resp, err := g.open(t.Context(), prompt("up/m", "hi", true))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body := bufio.NewReader(resp.Body)
			first, err := body.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			old := g.dial(t)
			io.WriteString(old, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
			if got := statusOf(t, old); got != 200 {
				t.Fatalf("got status %d, want 200", got)
			}
			g.cancel()
			g.closed()
			io.WriteString(old, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
			if got := statusOf(t, old); got != 503 && got != 0 {
				t.Errorf("got status %d from /readyz on the old connection, want 503 or none", got)
			}
			select {
			case status := <-g.exited:
				t.Fatalf("got exit status %d while a stream ran", status)
			default:
			}
			close(more)
			rest, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			got := streamed(t, first+string(rest))
			if parser == "auto" {
				got.same(t, said{content: strings.TrimSpace(strings.TrimSuffix(longText, hermesCall)), finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}}})
			} else {
				got.same(t, said{content: longText, finish: "stop"})
			}
			if status := g.wait(); status != 0 {
				t.Errorf("got exit status %d, want 0; stderr:\n%s", status, g.stderr)
			}
		})
	}
}

// closed waits until no connection is taken any more.
func (g *gate) closed() {
	g.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		r := g.request("GET", "/readyz", "")
		r.Close = true
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			return
		}
		resp.Body.Close()
	}
	g.t.Errorf("got a gateway that takes connections %v after its end, want none", patience)
}

// TestShutdownTimeout has a stream that takes longer than the time it is given.
func TestShutdownTimeout(t *testing.T) {
	t.Parallel()
	for _, parser := range []string{"none", "auto"} {
		for _, text := range []string{longText, hermesCall + hermesCall} {
			t.Run(parser+"/"+text[:4], func(t *testing.T) {
				t.Parallel()
				config := configFile(t, fmt.Sprintf("{shutdown_timeout: 50ms, providers: {up: {type: openai, base_url: %q, parser: %s, timeouts: {idle: 10s}}}}", slowStream(t, nil, text), parser))
				g := &gate{t: t, stdout: &buffer{}, stderr: &buffer{}, exited: make(chan int, 1), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					g.exited <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "-c", config}, readerOf(""), g.stdout, g.stderr)
				}()
				g.await()
				resp, err := g.open(t.Context(), prompt("up/m", "hi", true))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body := bufio.NewReader(resp.Body)
				if _, err := body.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				cancel()
				rest, err := io.ReadAll(body)
				if err == nil || strings.Contains(string(rest), "[DONE]") {
					t.Errorf("got %q and error %v, want a stream that is cut", rest, err)
				}
				if status := g.wait(); status != 1 {
					t.Errorf("got exit status %d, want 1", status)
				}
				if want := "shutdown_timeout"; !strings.Contains(g.stderr.String(), want) {
					t.Errorf("got %q, want %q in it", g.stderr, want)
				}
			})
		}
	}
}

// TestStopWhileLoading stops the gateway at once, while it compiles its parsers.
func TestStopWhileLoading(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"{}", "plugins: {cache_dir: \"off\"}"} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			g := &gate{t: t, stdout: &buffer{}, stderr: &buffer{}, exited: make(chan int, 1)}
			ctx, cancel := context.WithCancel(t.Context())
			file := configFile(t, config)
			go func() {
				g.exited <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "-c", file}, readerOf(""), g.stdout, g.stderr)
			}()
			for end := time.Now().Add(patience); !listensOn.MatchString(g.stdout.String()) && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			cancel()
			if status := g.wait(); status != 0 {
				t.Errorf("got exit status %d, want 0; stderr:\n%s", status, g.stderr)
			}
			if strings.Contains(g.stderr.String(), "panic") {
				t.Errorf("got a panic:\n%s", g.stderr)
			}
		})
	}
}
