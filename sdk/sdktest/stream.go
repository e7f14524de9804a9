package sdktest

import (
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Steps feeds texts to a new parser, one after the other, and wants after each what
// the parser can say then: a step is a text and its events as Format writes them,
// which are not joined. It shows what waits for more text and what does not.
func Steps(tb testing.TB, spec sdk.Spec, opts sdk.Options, steps [][2]string) {
	tb.Helper()
	r := open(tb, spec, opts)
	for _, step := range steps {
		text, want := step[0], step[1]
		if r.out.Ended() {
			tb.Fatalf("%s: the region has ended before %q", spec.Name, text)
		}
		events := r.feed(text)
		r.check()
		if got := Format(events); got != want {
			tb.Errorf("%s after %q: %q, want %q", spec.Name, text, got, want)
		}
	}
}

// LongString feeds input to a new parser byte by byte. It is one call with a long
// string as an argument, which a client wants to see while the model writes it: the
// arguments must come in least pieces or more before the output ends, and be args.
func LongString(tb testing.TB, spec sdk.Spec, opts sdk.Options, input, args string, least int) {
	tb.Helper()
	r := open(tb, spec, opts)
	pieces := 0
	for i := range len(input) {
		for _, e := range r.feed(input[i : i+1]) {
			if e.Kind == abi.Args {
				pieces++
			}
		}
	}
	r.finish(sdk.Stop)
	r.check()
	calls := Calls(r.events)
	if pieces < least || len(calls) != 1 || calls[0].Args != args {
		tb.Errorf("%s: %q gives, in %d pieces, the calls %q, want %d pieces of %q", spec.Name, input, pieces, calls, least, args)
	}
}

// Drain feeds text to a new parser in pieces of size bytes and throws the events
// away, for tests of what it costs to read. A region that does not end with the text
// is finished; Drain reports whether it ended by itself.
func Drain(tb testing.TB, spec sdk.Spec, opts sdk.Options, text []byte, size int, reason sdk.Reason) bool {
	tb.Helper()
	p, err := spec.New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	var out sdk.Out
	for rest := text; len(rest) > 0 && !out.Ended(); rest = rest[min(len(rest), size):] {
		p.Feed(rest[:min(len(rest), size)], &out)
		out.Take()
	}
	if out.Ended() {
		return true
	}
	p.Finish(reason, &out)
	return false
}

// Benchmark measures how long it takes to read text in pieces of 64 bytes, with a new
// parser each time, and reports whether the region ended by itself.
func Benchmark(b *testing.B, spec sdk.Spec, opts sdk.Options, text string) bool {
	b.Helper()
	input := []byte(text)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	ended := false
	for b.Loop() {
		ended = Drain(b, spec, opts, input, 64, sdk.Stop)
	}
	return ended
}
