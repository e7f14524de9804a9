package sdktest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
)

// Run feeds input to a new parser in one piece, tells it that the output ended if
// the region did not, and gives the joined events. It fails the test if they break
// the contract. Options and events cross the border encoded, as in a gateway.
func Run(tb testing.TB, spec sdk.Spec, opts sdk.Options, input string, reason sdk.Reason) []sdk.Event {
	tb.Helper()
	events := feed(tb, spec, opts, []string{input}, reason)
	if err := contract.Check(events, len(input)); err != nil {
		tb.Fatalf("%s of %q: %v\n%s", spec.Name, input, err, Format(events))
	}
	return events
}

// Stable is Run, and checks that every way of cutting the input gives the same
// joined events, as contract.Cuts has them, and that these make nothing of the text that they may
// not, as contract.CheckText says. A sdk.Reusable reads every other of them with
// a parser that has read the ones before.
func Stable(tb testing.TB, spec sdk.Spec, opts sdk.Options, input string, reason sdk.Reason) []sdk.Event {
	tb.Helper()
	return stable(tb, spec, opts, input, reason, new(sdk.Reusable))
}

// stable is Stable with a parser that has been used, if there is one, which it leaves for
// the next input.
func stable(tb testing.TB, spec sdk.Spec, opts sdk.Options, input string, reason sdk.Reason, used *sdk.Reusable) []sdk.Event {
	tb.Helper()
	checkVerdicts(tb, spec, input)
	want := Run(tb, spec, opts, input, reason)
	if err := contract.CheckText(want, input, reason, opts.Tools); err != nil {
		tb.Fatalf("%s of %q: %v\n%s", spec.Name, input, err, Format(want))
	}
	wanted := Format(want)
	for i, pieces := range contract.Cuts(input) {
		how, r := "", open(tb, spec, opts)
		if *used != nil && i%2 == 0 {
			how = " (and on what the parser has read before)"
			r.reuse(*used, opts)
		}
		got := r.feedAll(pieces, reason)
		if Format(got) != wanted {
			tb.Fatalf("%s of %q depends on the cut%s\n%q gives:\n%s\nin one piece:\n%s",
				spec.Name, input, how, pieces, Format(got), wanted)
		}
		*used, _ = r.parser.(sdk.Reusable)
	}
	return want
}

// Fragments runs n inputs through Stable that are fragments put together at random,
// the same ones each time. Fragments that are a format's own markers find what
// changed bytes do not.
func Fragments(tb testing.TB, spec sdk.Spec, opts sdk.Options, fragments []string, n int) {
	tb.Helper()
	random := rand.New(rand.NewPCG(2, uint64(n))) // a repeatable test
	used := new(sdk.Reusable)
	for range n {
		var input strings.Builder
		for range 1 + random.IntN(14) {
			input.WriteString(fragments[random.IntN(len(fragments))])
		}
		stable(tb, spec, opts, input.String(), sdk.Reason(random.IntN(2)), used)
	}
}

// feed gives the pieces to a new parser and finishes it.
func feed(tb testing.TB, spec sdk.Spec, opts sdk.Options, pieces []string, reason sdk.Reason) []sdk.Event {
	tb.Helper()
	return open(tb, spec, opts).feedAll(pieces, reason)
}

// region is one that a parser reads. Its methods are called for every piece of every cut, so they
// call Helper, which looks at the stack, only where they fail.
type region struct {
	tb     testing.TB
	name   string
	parser sdk.Parser
	out    sdk.Out
	events []sdk.Event // all so far, not joined
	err    error       // that ended the region: its events cannot be read
}

// open begins a region. The options cross the border encoded.
func open(tb testing.TB, spec sdk.Spec, opts sdk.Options) *region {
	own, err := across(opts)
	if err != nil {
		tb.Helper()
		tb.Fatal(err)
	}
	p, err := spec.New(own)
	if err != nil {
		tb.Helper()
		tb.Fatalf("New of %s: %v", spec.Name, err)
	}
	return &region{tb: tb, name: spec.Name, parser: p}
}

// across gives options as they come across the border.
func across(opts sdk.Options) (sdk.Options, error) {
	decoded, err := abi.DecodeOptions(abi.AppendOptions(nil, opts))
	if err != nil {
		return opts, fmt.Errorf("the options do not survive the border: %w", err)
	}
	return decoded, nil
}

// reuse makes a parser that has been used read the region.
func (r *region) reuse(p sdk.Reusable, opts sdk.Options) {
	own, err := across(opts)
	if err != nil {
		r.tb.Helper()
		r.tb.Fatal(err)
	}
	if err := p.Reset(own); err != nil {
		r.tb.Helper()
		r.tb.Fatalf("Reset of %s: %v", r.name, err)
	}
	r.parser = p
}

// feedAll gives the pieces to the parser and finishes it. The events are joined.
func (r *region) feedAll(pieces []string, reason sdk.Reason) []sdk.Event {
	for _, piece := range pieces {
		r.feed(piece)
	}
	r.finish(reason)
	if r.err != nil {
		r.tb.Helper()
		r.check()
	}
	return contract.Join(r.events)
}

// check fails the test if events could not be read.
func (r *region) check() {
	if r.err != nil {
		r.tb.Helper()
		r.tb.Fatalf("events of %s: %v", r.name, r.err)
	}
}

// feed gives the next text to the parser, unless the region has ended, and returns
// what it says. Whether that could be read, check tells.
func (r *region) feed(piece string) []sdk.Event {
	if r.out.Ended() || r.err != nil {
		return nil
	}
	text := []byte(piece)
	r.parser.Feed(text, &r.out)
	events := r.take()
	clear(text) // the parser must not have kept it
	return events
}

// finish ends the output, unless the region has ended. What check tells counts here too.
func (r *region) finish(reason sdk.Reason) {
	if !r.out.Ended() && r.err == nil {
		r.parser.Finish(reason, &r.out)
		r.take()
	}
}

func (r *region) take() []sdk.Event {
	n := len(r.events)
	events, err := abi.DecodeEvents(r.events, r.out.Take())
	if err != nil {
		r.err = err
		return nil
	}
	r.events = events
	return events[n:]
}
