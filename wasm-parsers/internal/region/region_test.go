package region_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// pairs is a format for the tests: "<" KEY "=" VALUE ";" … ">", and a region is one call of f.
type pairs struct {
	region.Params
	open bool
}

func (p *pairs) Reset(o sdk.Options) error {
	p.open = false
	p.Begin(p, o)
	return nil
}

func (p *pairs) Step() bool {
	switch {
	case !p.open:
		if !p.Marker("<<") {
			return false
		}
		p.Call("f", "")
		p.open, p.Began = true, true
		return true
	case !p.SkipSpace():
		return false
	case p.Rest()[0] == '>':
		p.Advance(1)
		p.EndCall()
		return p.End()
	}
	text, _, found := strings.Cut(string(p.Rest()), ";")
	key, value, ok := strings.Cut(text, "=")
	switch {
	case !found:
		return false
	case !ok || p.Seen([]byte(key)):
		return p.RefuseHere()
	}
	p.See([]byte(key))
	p.Member([]byte(key))
	p.Out.Args([]byte(strconv.Quote(value)))
	p.Advance(len(text) + 1)
	return true
}

func (p *pairs) Over() { p.Lose() }

// read gives the joined events of a region, with a parser that may have been used.
func read(t *testing.T, p *pairs, pieces []string, reason sdk.Reason) string {
	t.Helper()
	if err := p.Reset(sdk.Options{}); err != nil {
		t.Fatal(err)
	}
	var out sdk.Out
	for _, piece := range pieces {
		if !out.Ended() {
			p.Feed([]byte(piece), &out)
		}
	}
	if !out.Ended() {
		p.Finish(reason, &out)
	}
	events, err := abi.DecodeEvents(nil, out.Take())
	if err != nil {
		t.Fatal(err)
	}
	return contract.Format(contract.Join(events))
}

// TestRegion reads regions with one parser, one after the other: what the last one was must
// make no difference.
func TestRegion(t *testing.T) {
	t.Parallel()
	const call = "call_start 0 \"f\"\n"
	var many, args strings.Builder
	for i := range 40 { // more keys than are looked through
		many.WriteString("k" + strconv.Itoa(i) + "=v;")
		args.WriteString(", \\\"k" + strconv.Itoa(i) + "\\\": \\\"v\\\"")
	}
	p := &pairs{}
	for range 2 {
		for _, tt := range []struct {
			text   string
			reason sdk.Reason
			want   string
		}{
			{"<<a=1;b=2;>", sdk.Stop, call + "args 0 \"{\\\"a\\\": \\\"1\\\", \\\"b\\\": \\\"2\\\"}\"\ncall_end 0\nend 11\n"},
			{"<<>", sdk.Stop, call + "args 0 \"{}\"\ncall_end 0\nend 3\n"},
			{"<<a=1;", sdk.Stop, call + "args 0 \"{\\\"a\\\": \\\"1\\\"\"\nmalformed 0 6\n"},
			{"<<a=1;a", sdk.Length, call + "args 0 \"{\\\"a\\\": \\\"1\\\"\"\ncut 0\nend 7\n"},
			{"<", sdk.Length, "malformed 0 1\n"},
			{"x", sdk.Stop, "malformed 0 1\n"},
			{"<<a=1;a=2;>", sdk.Stop, call + "args 0 \"{\\\"a\\\": \\\"1\\\"\"\nmalformed 0 6\n"},
			{"<<" + many.String() + "k3=v;>", sdk.Stop,
				call + "args 0 \"{" + strings.TrimPrefix(args.String(), ", ") + "\"\nmalformed 0 " + strconv.Itoa(2+many.Len()) + "\n"},
		} {
			if got := read(t, p, []string{tt.text}, tt.reason); got != tt.want {
				t.Errorf("%q gives\n%s, want\n%s", tt.text, got, tt.want)
			}
			if got := read(t, p, strings.Split(tt.text, ""), tt.reason); got != tt.want {
				t.Errorf("%q byte by byte gives\n%s, want\n%s", tt.text, got, tt.want)
			}
		}
	}
}

// TestReuseDoesNotAllocate checks what reuse is for.
func TestReuseDoesNotAllocate(t *testing.T) {
	p, out, text := &pairs{}, sdk.Out{}, []byte("<< ")
	run := func() {
		out.Reset()
		_ = p.Reset(sdk.Options{})
		p.Feed(text, &out)
		p.Finish(sdk.Length, &out)
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 0 {
		t.Errorf("a region takes %v allocations, want none", n)
	}
}
