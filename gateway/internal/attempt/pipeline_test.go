package attempt_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/attempt"
	"github.com/callgate/callgate/gateway/wire"
)

// toy is a stage that notes what it is told. It holds its frames if it is to, and fails at a
// frame of its own choice.
type toy struct {
	holds  bool
	failAt string
	err    error
	held   []*wire.Frame
	saw    []string
	ends   []error
}

func (s *toy) Begin(context.Context, *gateway.AttemptInfo, *gateway.Outcome) (gateway.Stage, error) {
	return s, nil
}

func (s *toy) Frame(f *wire.Frame, next gateway.Sink) error {
	s.saw = append(s.saw, string(f.Raw))
	switch {
	case s.failAt == string(f.Raw):
		return s.err
	case s.holds:
		s.held = append(s.held, f.Own())
	default:
		next.Put(f)
	}
	return nil
}

func (s *toy) End(cause error, next gateway.Sink) error {
	s.ends = append(s.ends, cause)
	for _, f := range s.held {
		next.Put(f)
	}
	s.held = nil
	if cause == io.EOF && s.failAt == "end" {
		return s.err
	}
	return nil
}

// unready is a maker whose stage cannot begin.
type unready struct{ err error }

func (m unready) Begin(context.Context, *gateway.AttemptInfo, *gateway.Outcome) (gateway.Stage, error) {
	return nil, m.err
}

// row is a row of toys, and what came out of it.
func row(t *testing.T, toys ...*toy) (p *attempt.Pipeline, out *[]string) {
	t.Helper()
	var makers []gateway.Maker
	for _, s := range toys {
		makers = append(makers, s)
	}
	out = new([]string)
	p, err := attempt.NewPipeline(t.Context(), makers, nil, nil, func(f *wire.Frame) { *out = append(*out, string(f.Raw)) })
	if err != nil {
		t.Fatal(err)
	}
	return p, out
}

func give(p *attempt.Pipeline, frames string) (err error) {
	for f := range strings.FieldsSeq(frames) {
		if err = p.Frame(&wire.Frame{Raw: []byte(f)}); err != nil {
			return err
		}
	}
	return nil
}

// TestStageFails holds what becomes of an answer that a stage ends: what the stages behind it
// hold goes out, since it came before; what it holds itself, and those in front of it, does
// not; each is told once, and of the failure.
func TestStageFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		toys []*toy // the second fails
		want string
	}{
		{"nobody holds", []*toy{{}, {failAt: "c"}, {}}, "a b"},
		{"the one behind holds", []*toy{{}, {failAt: "c"}, {holds: true}}, "a b"},
		{"both behind hold", []*toy{{}, {failAt: "c"}, {holds: true}, {holds: true}}, "a b"},
		{"the one in front holds", []*toy{{holds: true}, {failAt: "c"}, {holds: true}}, "a b"},
		{"it fails at the end", []*toy{{holds: true}, {failAt: "end", holds: true}, {holds: true}}, "a b c d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			failing := tt.toys[1]
			failing.err = broken
			p, out := row(t, tt.toys...)
			err := give(p, "a b c d")
			if err == nil {
				err = p.End(io.EOF)
			}
			if !errors.Is(err, broken) {
				t.Fatalf("the failure is %v", err)
			}
			if got := strings.Join(*out, " "); got != tt.want {
				t.Errorf("%q came out, want %q", got, tt.want)
			}
			for range 2 { // it is over, whatever follows
				if !errors.Is(p.Frame(&wire.Frame{Raw: []byte("e")}), broken) || !errors.Is(p.End(io.EOF), broken) {
					t.Error("the failure is forgotten")
				}
			}
			for i, s := range tt.toys {
				if len(s.ends) != 1 {
					t.Errorf("stage %d was told %d times: %v", i, len(s.ends), s.ends)
				} else if i > 1 && !errors.Is(s.ends[0], broken) {
					t.Errorf("stage %d was told of %v", i, s.ends[0])
				}
				if slices.Contains(s.saw, "e") {
					t.Errorf("stage %d saw a frame behind the end", i)
				}
			}
		})
	}
}

// TestPipelineEnds holds that each stage is told once of the first end, however often End is
// called.
func TestPipelineEnds(t *testing.T) {
	t.Parallel()
	left := errors.New("the client left")
	a, b := &toy{holds: true}, &toy{holds: true}
	p, out := row(t, a, b)
	if err := give(p, "a b"); err != nil {
		t.Fatal(err)
	}
	for _, cause := range []error{left, io.EOF, left} {
		if err := p.End(cause); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.ends) != 1 || len(b.ends) != 1 || a.ends[0] != left || b.ends[0] != left {
		t.Errorf("told %v and %v", a.ends, b.ends)
	}
	if got := strings.Join(*out, " "); got != "a b" {
		t.Errorf("%q came out", got)
	}
}

// TestStageUnready holds that stages are told of the end which had begun when a later one
// could not.
func TestStageUnready(t *testing.T) {
	t.Parallel()
	broken := errors.New("no parser")
	a, behind := &toy{}, &toy{}
	_, err := attempt.NewPipeline(t.Context(), []gateway.Maker{a, unready{broken}, behind}, nil, nil, func(*wire.Frame) { t.Error("a frame came out") })
	if !errors.Is(err, broken) || len(a.ends) != 1 || a.ends[0] != broken || len(behind.ends) != 0 {
		t.Errorf("%v; told %v and %v", err, a.ends, behind.ends)
	}
}
