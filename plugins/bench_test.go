package plugins_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// hermesCall is a region of about n bytes with one call.
func hermesCall(n int) []byte {
	const item = `{"id": 17, "title": "a \"quoted\" title", "tags": ["x", "y"], "price": 12.5}`
	items := strings.TrimSuffix(strings.Repeat(item+", ", max(1, n/(len(item)+2)-1)), ", ")
	return []byte("<tool_call>\n{\"name\": \"store\", \"arguments\": {\"items\": [" + items + "]}}\n</tool_call>")
}

var storeTool = abi.Options{Tools: []abi.Tool{{Name: "store", Params: []abi.Param{{Name: "items", Types: abi.Array, Required: true}}}}}

// parseRegion is what a response costs that has one region.
func parseRegion(ctx context.Context, h *plugins.Host, parser string, text []byte) (events int, err error) {
	s := h.Session()
	defer s.Close()
	if v, err := s.CanParse(ctx, parser, text); err != nil || v != abi.Yes {
		return 0, fmt.Errorf("can_parse: %v, %w", v, err)
	}
	r, err := s.Open(ctx, parser, storeTool)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	first, err := r.Feed(ctx, text)
	if err != nil {
		return 0, err
	}
	events = len(first)
	last, err := r.Finish(ctx, abi.Stop)
	return events + len(last), err
}

func BenchmarkParse(b *testing.B) {
	wasm := Build(b, "../wasm-parsers/builtin")
	for _, isolation := range []string{plugins.IsolationReset, plugins.IsolationPooled} {
		h := newHost(b, plugins.Config{Isolation: isolation})
		load(b, h, "builtin", wasm)
		for _, kb := range []int{1, 16, 256} {
			text := hermesCall(kb << 10)
			b.Run(fmt.Sprintf("%s/%dKB", isolation, kb), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if n, err := parseRegion(b.Context(), h, "hermes", text); n < 3 || err != nil {
						b.Fatalf("got %d events, %v", n, err)
					}
				}
			})
		}
	}
}

// BenchmarkDelta is what a streamed piece of 16 bytes costs.
func BenchmarkDelta(b *testing.B) {
	h := newHost(b, plugins.Config{Limits: plugins.Limits{Input: 1 << 40, Output: 1 << 40, Total: 1 << 62}})
	load(b, h, "go.wasm", goGuest(b))
	s := h.Session()
	defer s.Close()
	r, err := s.Open(b.Context(), "go", abi.Options{})
	if err != nil {
		b.Fatal(err)
	}
	text := []byte("sixteen bytes of")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Feed(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReset is a response in which nothing happens but that an instance is
// used, of a small guest and of a large one.
func BenchmarkReset(b *testing.B) {
	for name, wasm := range map[string][]byte{"small": Guest{Manifest: Manifest("go")}.Wasm(), "go": goGuest(b)} {
		h := newHost(b, plugins.Config{})
		load(b, h, name, wasm)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := h.Session()
				if _, err := s.CanParse(b.Context(), "go", nil); err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
		})
	}
}

// BenchmarkNewInstance is what a response costs that finds no idle instance.
func BenchmarkNewInstance(b *testing.B) {
	h := newHost(b, plugins.Config{Idle: -1})
	load(b, h, "go.wasm", goGuest(b))
	for b.Loop() {
		s := h.Session()
		if _, err := s.CanParse(b.Context(), "go", nil); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
