package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
)

// input is a region for a parser.
type input struct {
	text    string
	options abi.Options
	reason  abi.Reason
	wanted  bool // if it is read as a call, somebody wants it to be one
}

// read gives a region in pieces to a parser, in a response of its own, and returns the
// joined events. The region must keep the contract.
func (t *trial) read(ctx context.Context, parser string, in input, pieces []string) ([]abi.Event, error) {
	t.printed.reset()
	s := t.host.Session()
	defer s.Close()
	run, err := s.Open(ctx, parser, in.options)
	if err != nil {
		return nil, t.explain(err)
	}
	defer run.Close()
	var events []abi.Event
	for _, piece := range pieces {
		got, err := run.Feed(ctx, []byte(piece))
		if err != nil {
			return nil, t.explain(err)
		}
		events = append(events, got...)
	}
	got, err := run.Finish(ctx, in.reason)
	if err != nil {
		return nil, t.explain(err)
	}
	events = contract.Join(append(events, got...))
	if err := contract.Check(events, len(in.text)); err != nil {
		return events, err
	}
	return events, contract.CheckText(events, in.text, in.reason, in.options.Tools)
}

// fault is an error of the sandbox.
type fault struct {
	kind plugins.ErrorKind
	text string
}

// Error implements error.
func (f *fault) Error() string { return string(f.kind) + ": " + f.text }

// explain says what went wrong in the sandbox, with what the plugin printed.
func (t *trial) explain(err error) error {
	e, ok := errors.AsType[*plugins.Error](err)
	if !ok {
		return err
	}
	text, _, _ := strings.Cut(e.Err.Error(), "\n") // wazero's errors go on with a stack trace
	if said := t.printed.firstLine(); said != "" {
		text += "; it printed: " + said
	}
	return &fault{e.Kind, text}
}

// examine reads a region whole and cut in these ways, and asks can_parse with every
// beginning. It returns the events, and what breaks the contract. A call that is wanted
// must not be declined by can_parse.
func (t *trial) examine(ctx context.Context, s *subject, in input, ways [][]string) ([]abi.Event, *Failure) {
	whole, err := t.read(ctx, s.Name, in, []string{in.text})
	if err != nil {
		return nil, &Failure{Problem: err.Error(), broken: true}
	}
	if problem := t.verdicts(ctx, s.Name, in, whole); problem != "" {
		return whole, &Failure{Problem: problem, broken: true}
	}
	want := contract.Format(whole)
	for _, pieces := range ways {
		events, err := t.read(ctx, s.Name, in, pieces)
		if ctx.Err() != nil {
			return whole, nil
		}
		if err != nil {
			return whole, &Failure{Cut: describe(pieces), Problem: err.Error(), broken: true}
		}
		if got := contract.Format(events); got != want {
			return whole, &Failure{Cut: describe(pieces), Problem: "not the same events as whole: " + difference(got, want), broken: true}
		}
	}
	return whole, nil
}

// verdicts asks can_parse with every beginning of a region. What it says for good must
// stay.
func (t *trial) verdicts(ctx context.Context, parser string, in input, events []abi.Event) string {
	text := in.text
	t.printed.reset()
	s := t.host.Session()
	defer s.Close()
	last := abi.Maybe
	for n := range min(len(text), abi.MaxHead) + 1 {
		v, err := s.CanParse(ctx, parser, []byte(text[:n]))
		switch {
		case err != nil:
			return fmt.Sprintf("can_parse of its first %d bytes: %v", n, t.explain(err))
		case last != abi.Maybe && v != last:
			return fmt.Sprintf("can_parse says %s to its first %d bytes and %s to %d: yes and no must be for good", word(last), n-1, word(v), n)
		}
		last = v
	}
	called := in.wanted && slices.ContainsFunc(events, func(e abi.Event) bool { return e.Kind == abi.CallEnd })
	if called && (last == abi.No || last == abi.Maybe && len(text) >= abi.MaxHead) {
		return fmt.Sprintf("can_parse says %s, so the gateway never feeds what the parser reads as a call", word(last))
	}
	return ""
}

func word(v abi.Verdict) string { return [...]string{"no", "yes", "maybe"}[v] }

// describe says how a text was cut.
func describe(pieces []string) string {
	switch {
	case len(pieces) == 2:
		return fmt.Sprintf("at byte %d", len(pieces[0]))
	case sized(pieces, 1):
		return "byte by byte"
	case sized(pieces, 6):
		return "in sixes"
	}
	return fmt.Sprintf("as %.300q", pieces)
}

func sized(pieces []string, n int) bool {
	return !slices.ContainsFunc(pieces[:len(pieces)-1], func(p string) bool { return len(p) != n })
}

// difference is the first line in which two lists of events differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := line(g, i), line(w, i)
		if a != b {
			return fmt.Sprintf("event %d is %s, want %s", i, a, b)
		}
	}
	return "none"
}

// maxEvent is how much of an event is shown.
const maxEvent = 200

func line(lines []string, i int) string {
	if i >= len(lines) || lines[i] == "" {
		return "missing"
	}
	if s := lines[i]; len(s) > maxEvent {
		return fmt.Sprintf("%s (%d bytes)", plaintext.Excerpt(s, maxEvent), len(s))
	}
	return lines[i]
}
