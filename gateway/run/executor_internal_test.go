package run

import (
	"context"
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/toolserver"
)

// waiting is a catalogue whose calls end with their context.
type waiting struct{}

func (waiting) Tools([]string) ([]toolserver.Tool, []toolserver.Missing) { return nil, nil }

func (waiting) Call(ctx context.Context, _ string, _ json.RawMessage) (*toolserver.Result, error) {
	<-ctx.Done()
	return nil, &toolserver.Error{Kind: toolserver.Timeout, Message: "The tool did not answer in time."}
}

// TestManyCalls holds that calls which wait for others cost no goroutine: a model may make as many as fit
// into its answer.
func TestManyCalls(t *testing.T) {
	const many = 10_000
	p := Policy{}.withDefaults()
	e := &executor{caller: &caller{catalogue: waiting{}, schemas: repair.NewSchemas(0), trace: untraced{}}, beat: time.Hour, policy: &p,
		until: time.Now().Add(time.Hour), out: &output{writer: &whole{}}}
	w := &work{}
	for range many {
		w.ready = append(w.ready, ready{call: &call{}, tool: &toolserver.Tool{}})
	}
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	e.start(ctx, w)
	if got := runtime.NumGoroutine() - before; got > 10*p.Parallel {
		t.Errorf("got %d goroutines for %d calls of which %d run at once", got, many, p.Parallel)
	}
	cancel()
	for range many {
		<-w.ended
	}
	w.stop()
}
