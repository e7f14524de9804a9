package examples_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
)

// TestHostile reads a megabyte of what makes most work of a region: 16 times the text may
// be some 16 times the work. Besides, the growth in TestLanguages repeats triggers.
func TestHostile(t *testing.T) {
	t.Parallel()
	var keys strings.Builder
	for i := range 64 {
		fmt.Fprintf(&keys, "\nk%02d:1", i)
	}
	inEach(t, func(t *testing.T, wasm []byte) {
		h := host(t, wasm)
		for name, unit := range map[string]string{
			"calls": "\n@@call a", "keys": "\n@@call get_weather" + keys.String(), "controls": "\x00", "bars": "\n|", "words": "\n@@call f\nx:" + strings.Repeat("1", 32),
		} {
			small, large := work(t, h, unit, 1_000_000/16), work(t, h, unit, 1_000_000)
			if ratio := float64(large) / float64(small); ratio > 20 {
				t.Errorf("%s: 1 MB is %.1f times as much work as 64 KB, want at most 20", name, ratio)
			}
		}
	})
}

// work is how much the example works on a region of some size that repeats a unit.
func work(t *testing.T, h *plugins.Host, unit string, size int) int64 {
	t.Helper()
	session := h.Session()
	defer session.Close()
	run, err := session.Open(t.Context(), parser, abi.Options{Tools: sdktest.Cases(t, "cases")[0].Options.Tools})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	text := "@@call f\nx: text" + strings.Repeat(unit, size/len(unit))
	for rest := text; rest != ""; rest = rest[min(len(rest), 4<<10):] {
		events, err := run.Feed(t.Context(), []byte(rest[:min(len(rest), 4<<10)]))
		if err != nil {
			t.Fatalf("%.20q: %v", unit, err)
		}
		for _, e := range events {
			if e.Kind == abi.Malformed {
				t.Fatalf("%.20q is malformed at byte %d, want all of it read", unit, e.To)
			}
		}
	}
	return session.Work()
}
