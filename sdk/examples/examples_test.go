package examples_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/internal/guests"
	"github.com/callgate/callgate/internal/install"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/plugins/trial"
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
	"github.com/callgate/callgate/sdk/sdktest"
)

// requireToolchains makes a toolchain that is missing a failure.
const requireToolchains = "CALLGATE_REQUIRE_TOOLCHAINS"

// parser is the name of the example's parser, in every language.
const parser = "my_model"

// inEach runs a test of the example in each language that can be built here.
func inEach(t *testing.T, test func(t *testing.T, wasm []byte)) {
	t.Helper()
	for _, language := range guests.Languages() {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			wasm, err := guests.Build(t.Context(), ".", language)
			install.Need(t, err, requireToolchains)
			test(t, wasm)
		})
	}
}

// TestLanguages holds the example in each language to the same cases, and to all that
// "callgate plugin test" asks of a plugin.
func TestLanguages(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, wasm []byte) {
		report, err := trial.Run(t.Context(), trial.Config{
			Plugin: plugins.Source{Name: "plugin.wasm", Wasm: wasm}, Cases: "cases", Fuzz: time.Second, Seed: 1, CacheDir: pluginstest.CacheDir(t),
			Read: func(ctx context.Context, s *plugins.Session, p *abi.Parser, opts abi.Options, text string) []string {
				return chain.ReadAlone(ctx, chain.Runs(s), p, opts, text).Warnings
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Failures {
			t.Error(f)
		}
		tried := map[string]int{}
		for _, c := range report.Checks {
			tried[c.Name] = c.Tried
		}
		for _, check := range []string{"cases", "probes", "arguments", "text", "regions", "limits", "growth", "fuzz"} {
			if tried[check] == 0 {
				t.Errorf("got no text tried as %s, want some", check)
			}
		}
	})
}

// host loads the example as the gateway does, with patience: work is counted here, and time is
// the machine's.
func host(t *testing.T, wasm []byte) *plugins.Host {
	t.Helper()
	h, err := plugins.New(t.Context(), plugins.Config{CacheDir: pluginstest.CacheDir(t), Limits: plugins.Limits{Handles: 64, Time: 10 * time.Second, Total: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := h.Load(t.Context(), plugins.Source{Name: "plugin.wasm", Wasm: wasm}); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHandles opens more regions at once than the gateway does, and reads them in turns:
// each has its own options and calls, and a handle that was closed is given again.
func TestHandles(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, wasm []byte) {
		session := host(t, wasm).Session()
		defer session.Close()
		const most = 16
		var runs []*plugins.Run
		for i := range most {
			run, err := session.Open(t.Context(), parser, optionsOf(i))
			if err != nil {
				t.Fatalf("region %d: %v", i, err)
			}
			defer run.Close()
			runs = append(runs, run)
		}
		got := make([][]abi.Event, most)
		for _, piece := range []string{"@@call f\nx", ": ", "1\n@@", "end"} {
			for i, run := range runs {
				events, err := run.Feed(t.Context(), []byte(piece))
				if err != nil {
					t.Fatalf("region %d: %v", i, err)
				}
				got[i] = append(got[i], events...)
			}
		}
		for i := range runs {
			want := []string{`{"x":1}`, `{"x":"1"}`}[i%2]
			if args := sdktest.Calls(got[i]); len(args) != 1 || args[0].Args != want {
				t.Errorf("region %d: got calls %v, want one with %s", i, args, want)
			}
		}
		runs[3].Close()
		run, err := session.Open(t.Context(), parser, abi.Options{})
		if err != nil {
			t.Fatalf("after a region was closed: %v", err)
		}
		run.Close()
	})
}

// optionsOf are options of a size of their own; x is a string in every second one.
func optionsOf(i int) abi.Options {
	x := []sdk.Types{abi.Integer, abi.String}[i%2]
	tools := []abi.Tool{{Name: strings.Repeat("g", 100*i+1), Params: []abi.Param{{Name: "x", Types: abi.Array, Required: true}, {Name: "y"}}}}
	return abi.Options{Tools: append(tools, abi.Tool{Name: "f", Params: []abi.Param{{Name: "y"}, {Name: "x", Types: x}}})}
}

// TestOptions opens with options that are long, that the guest cannot know, and that make
// no sense.
func TestOptions(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, wasm []byte) {
		h := host(t, wasm)
		options := optionsOf(1)
		for range 2000 { // more than the buffer of 64 KiB
			options.Tools = append(options.Tools, abi.Tool{Name: strings.Repeat("long", 32)})
		}
		options.Settings = []abi.Setting{{Key: "key", Value: "value"}}
		options.MaxDepth, options.Guess = 300, true
		session := h.Session()
		defer session.Close()
		for range 50 { // regions of a response, one after the other
			run, err := session.Open(t.Context(), parser, options)
			if err != nil {
				t.Fatal(err)
			}
			events, err := run.Feed(t.Context(), []byte("@@call f\nx: 1\n@@end"))
			if calls := sdktest.Calls(events); err != nil || len(calls) != 1 || calls[0].Args != `{"x":"1"}` {
				t.Fatalf("got calls %v and error %v, want one with a string", calls, err)
			}
			run.Close()
		}
	})
}

// TestSame reads texts made up from the format's own markers: the example gives the same
// events in every language.
func TestSame(t *testing.T) {
	t.Parallel()
	sessions := map[string]*plugins.Host{}
	for _, language := range guests.Languages() {
		wasm, err := guests.Build(t.Context(), ".", language)
		if errors.As(err, new(install.MissingError)) {
			continue // TestLanguages says so
		}
		if err != nil {
			t.Fatal(err)
		}
		sessions[language] = host(t, wasm)
	}
	cases := sdktest.Cases(t, "cases")
	for i, text := range madeUp(1000) {
		options := cases[0].Options
		options.Fenced = i%4 == 0
		want := ""
		for _, language := range guests.Languages() {
			h := sessions[language]
			if h == nil {
				continue
			}
			got := contract.Format(read(t, h, options, text, abi.Reason(i%2)))
			if want == "" {
				want = got
			}
			if got != want {
				t.Fatalf("%q in %s gives:\n%s\nin %s:\n%s", text, language, got, guests.Languages()[0], want)
			}
		}
	}
}

// madeUp are texts that fragments are put together to, the same ones each time.
func madeUp(n int) []string {
	fragments := []string{
		"@@call get_weather\n", "@@call other\n", "\n@@call ", "@@end", "\n@@end", "\n", "city", "days", "hourly", "note", ":", ": ", "\n| ", "|", " ", "@",
		"city: Oslo\n", "days: 3\n", "scale: 1.50\n", "hourly: True\n", "note: None\n", "any: -0.1e+7\n", "true", "null", `"`, "\\", "\x00", "\x1f", "\xff", "é", "0", "1",
	}
	random := rand.New(rand.NewPCG(3, uint64(n)))
	texts := make([]string, n)
	for i := range texts {
		var text strings.Builder
		text.WriteString("@@call get_weather\n")
		for range random.IntN(12) {
			text.WriteString(fragments[random.IntN(len(fragments))])
		}
		texts[i] = text.String()
	}
	return texts
}

// read gives a region to the example in one piece and returns the joined events.
func read(t *testing.T, h *plugins.Host, options abi.Options, text string, reason abi.Reason) []abi.Event {
	t.Helper()
	session := h.Session()
	defer session.Close()
	run, err := session.Open(t.Context(), parser, options)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	first, err := run.Feed(t.Context(), []byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	events := slices.Clone(first)
	last, err := run.Finish(t.Context(), reason)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return contract.Join(append(events, last...))
}
