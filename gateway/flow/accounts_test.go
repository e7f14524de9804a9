package flow_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// tally is the last stage of each attempt, where the accounts stand, and counts what its
// stages are told.
type tally struct {
	mu    sync.Mutex
	begun int
	ends  []error
	late  int // frames behind the end
}

func (m *tally) Begin(context.Context, *gateway.AttemptInfo, *gateway.Outcome) (gateway.Stage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun++
	return &tallied{tally: m}, nil
}

type tallied struct {
	*tally
	ended bool
}

func (s *tallied) Frame(f *wire.Frame, next gateway.Sink) error {
	s.mu.Lock()
	if s.ended {
		s.late++
	}
	s.mu.Unlock()
	next.Put(f)
	return nil
}

func (s *tallied) End(cause error, _ gateway.Sink) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.ends = append(s.ends, cause)
	return nil
}

// refusing is a provider that answers no request.
type refusing struct{ err error }

func (p refusing) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return nil, p.err
}

// waiting is a provider whose answer stops behind its first blocks, until it is closed.
type waiting struct {
	*scripted
	stopped chan struct{} // closed when Next waits
	closed  chan struct{}
}

func (p *waiting) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return &waitingReply{reply: reply{scripted: p.scripted}, from: p}, nil
}

type waitingReply struct {
	reply
	from *waiting
	once sync.Once
}

func (r *waitingReply) Next() (*gateway.Frame, error) {
	if r.at == len(r.blocks) {
		close(r.from.stopped)
		<-r.from.closed
		return nil, &gateway.Error{Kind: gateway.Canceled, Message: "closed"}
	}
	return r.reply.Next()
}

func (r *waitingReply) Close() error {
	r.once.Do(func() { close(r.from.closed) })
	return nil
}

// talliedChat asks a gateway whose last stages are counted.
func talliedChat(t *testing.T, p gateway.Provider, target gateway.Target) (*tally, *gateway.Response, error) {
	t.Helper()
	m := &tally{}
	target.Provider = "p"
	g, err := flow.New(flow.Options{
		Providers: map[string]gateway.Provider{"p": p}, Routes: map[string][]gateway.Target{"m": {target}},
		Parsers: native{chaintest.Runner{Specs: all.Specs()}}, RoutePolicy: reporting, Stages: []gateway.Maker{m},
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := gateway.ParseRequest([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Chat(t.Context(), req)
	return m, resp, err
}

// once holds that every stage that had begun was told once how its answer ended.
func (m *tally) once(t *testing.T, complete bool) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun == 0 || len(m.ends) != m.begun || m.late > 0 {
		t.Fatalf("%d stages had begun and were told %v, and %d frames came behind", m.begun, m.ends, m.late)
	}
	if (m.ends[len(m.ends)-1] == io.EOF) != complete {
		t.Errorf("told %v", m.ends)
	}
}

// TestAccountsToldOnce holds that whoever keeps usage accounts is told exactly once of every
// answer, however it ends.
func TestAccountsToldOnce(t *testing.T) {
	t.Parallel()
	cut := &scripted{blocks: stream("stop", "Hi", " there").blocks[:2], end: &gateway.Error{Kind: gateway.Unavailable, Message: "cut"}}
	call := `data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"nobody","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	for _, tt := range []struct {
		name     string
		provider gateway.Provider
		target   gateway.Target
		leaves   int // the client, behind so many frames
		complete bool
	}{
		{"done", stream("stop", "Hi"), repair, -1, true},
		{"done, whole", &scripted{whole: true, blocks: []string{`{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`}}, repair, -1, true},
		{"no end marker", &scripted{blocks: stream("stop", "Hi").blocks[:3]}, repair, -1, true},
		{"the client leaves at once", stream("stop", "Hi"), repair, 0, false},
		{"the client leaves", stream("stop", "Hi", " there"), repair, 2, false},
		{"the upstream is cut", cut, repair, -1, false},
		{"cut before the first chunk", &scripted{end: unavailable}, repair, -1, false},
		{"an error for the first chunk", &scripted{blocks: []string{`data: {"error":{"message":"bad"}}`}}, repair, -1, false},
		{"an error in mid-stream", &scripted{blocks: append(stream("stop", "Hi").blocks[:2], `data: {"error":{"message":"bad"}}`)}, repair, -1, false},
		{"the upstream refuses", refusing{rejected}, repair, -1, false},
		{"a stage refuses", &scripted{blocks: []string{call, "data: [DONE]"}}, gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.RejectInvalid}, -1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, resp, err := talliedChat(t, tt.provider, tt.target)
			if err == nil {
				in := reads(resp)
				for n := 0; err == nil && n != tt.leaves; n++ {
					_, err = in.next()
				}
				for range 2 {
					resp.Close()
				}
			}
			if tt.complete && err != io.EOF {
				t.Errorf("the answer ended with %v", err)
			}
			m.once(t, tt.complete)
		})
	}
}

// TestCloseWhileNextWaits holds what [gateway.Reply] promises: an answer may be closed by
// another goroutine than the one that waits for its next frame. Next returns then, and all
// are told once.
func TestCloseWhileNextWaits(t *testing.T) {
	t.Parallel()
	p := &waiting{scripted: &scripted{blocks: stream("stop", "Hi", " there").blocks[:3]}, stopped: make(chan struct{}), closed: make(chan struct{})}
	m, resp, err := talliedChat(t, p, repair)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		in := reads(resp)
		for {
			if _, err := in.next(); err != nil {
				ended <- err
				return
			}
		}
	}()
	<-p.stopped
	resp.Close()
	err = <-ended
	resp.Close()
	var e *gateway.Error
	if !errors.As(err, &e) || e.Kind != gateway.Canceled {
		t.Errorf("Next ended with %v", err)
	}
	m.once(t, false)
}
