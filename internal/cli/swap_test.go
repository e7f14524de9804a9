package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins/pluginstest"
)

// swapped writes a file of the plugins directory as cp and callgate plugin pull do: at once.
func swapped(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

const swapText = `<one>{"name": "get_weather", "arguments": {"city": "Oslo"}}</one> <two>{"name": "get_weather", "arguments": {"city": "Bergen"}}</two>`

// city is where the call of an answer asks for the weather: the version of the parser that
// has read it.
func city(t *testing.T, s said) string {
	t.Helper()
	if len(s.calls) != 1 {
		return fmt.Sprintf("%d calls", len(s.calls))
	}
	return strings.Trim(strings.TrimPrefix(s.calls[0].args, `{"city":`), ` "}`)
}

// TestHotSwap replaces a plugin under 200 open streams. Each of them is read to its end by
// the version that it began with, and new requests are read by the new one. A file that is
// no plugin changes nothing, and neither does one without the parser that a model needs.
func TestHotSwap(t *testing.T) {
	t.Parallel()
	const streams = 200
	dir := t.TempDir()
	file := filepath.Join(dir, "swap.wasm")
	one, two := pluginstest.Build(t, "testdata/swap/one"), pluginstest.Build(t, "testdata/swap/two")
	swapped(t, file, one)
	swap := make(chan struct{})
	site := newSite(t, func(w http.ResponseWriter, r received) {
		if !r.wantsStream() {
			answerWith(w, r, swapText)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		send(w, role, delta("Look: "))
		<-swap
		send(w, stream(swapText))
	})
	release := sync.OnceFunc(func() { close(swap) })
	t.Cleanup(release) // before the site waits for its requests
	var s setup
	fmt.Fprintf(&s.head, "plugins: {dir: %q}\n", dir)
	s.provider("up", site.url, "parser: swap")
	g := serve(t, s.String())
	g.await()

	var begun, ended sync.WaitGroup
	begun.Add(streams)
	for range streams {
		ended.Go(func() {
			resp, err := g.open(t.Context(), prompt("up/m", "hi", true))
			if err != nil {
				begun.Done()
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			body := bufio.NewReader(resp.Body)
			first, err := body.ReadString('\n')
			begun.Done()
			rest, err2 := io.ReadAll(body)
			if err != nil || err2 != nil {
				t.Errorf("a stream broke: %v, %v", err, err2)
				return
			}
			if got := city(t, streamed(t, first+string(rest))); got != "Oslo" {
				t.Errorf("a stream that began before the swap: got %s, want Oslo", got)
			}
		})
	}
	begun.Wait()
	answer := func() string { return city(t, whole(t, g.chat(prompt("up/m", "hi", false)).body)) }
	if got := answer(); got != "Oslo" {
		t.Fatalf("before the swap: got %s, want Oslo", got)
	}
	refused := func(what string, data []byte, reason string) {
		swapped(t, file, data)
		await(t, what+" is refused", func() bool {
			return strings.Contains(g.adminDo(http.MethodGet, "/admin/plugins").body, reason)
		})
		if got := answer(); got != "Oslo" {
			t.Errorf("%s: got %s, want Oslo", what, got)
		}
	}
	refused("half a file", two[:len(two)/2], "it ends early")
	refused("another parser", pluginstest.Guest{Manifest: pluginstest.Manifest("other")}.Wasm(), `there is no parser \"swap\"`)
	swapped(t, file, two)
	at := time.Now()
	await(t, "the new version", func() bool { return answer() == "Bergen" })
	t.Logf("new requests are read by the new version after %v", time.Since(at).Round(time.Millisecond))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	await(t, "the file is missed", func() bool {
		return strings.Contains(g.adminDo(http.MethodGet, "/admin/plugins").body, `"state":"kept"`)
	})
	if got := answer(); got != "Bergen" {
		t.Errorf("without the file: got %s, want Bergen", got)
	}
	release()
	ended.Wait()
}
