package textcall

import (
	"bytes"
	"context"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

const finishCalls = string(openai.FinishReasonToolCalls)

// choice is the state of one choice of the answer.
type choice struct {
	index   int
	chain   *chain.Chain
	events  []abi.Event // not given on yet
	in      []byte      // text that the events are about, while frames wait
	changed bool        // what goes on differs from what came
	called  bool        // a call of the upstream's own came, which does not wait behind a parser
	done    bool        // the chain is finished
	late    bool        // the stream ended and no finish reason had come
	renamed bool        // the finish reason "stop" has to become "tool_calls"
}

// choices are all of an answer.
type choices []*choice

// changing reports whether what goes out must differ from what came in.
func (all choices) changing() bool {
	changing := false
	for _, c := range all {
		c.changed = c.changed || c.differs()
		changing = changing || c.changed && (len(c.events) > 0 || len(c.in) > 0 || c.renamed)
	}
	return changing
}

func (all choices) holding() bool {
	for _, c := range all {
		if !c.done && !c.changed && c.chain.Holding() {
			return true
		}
	}
	return false
}

// forget drops what was noted about text that goes out as it is.
func (all choices) forget() {
	for _, c := range all {
		c.in, c.events = c.in[:0], c.events[:0]
	}
}

// take gives the events away.
func (c *choice) take() []abi.Event {
	events := c.events
	c.events, c.in = nil, c.in[:0]
	return events
}

// finish ends the choice's chain.
func (c *choice) finish(ctx context.Context, reason string) {
	if c.done {
		return
	}
	c.done = true
	why := abi.Stop
	if reason == string(openai.FinishReasonLength) {
		why = abi.Length
	}
	c.events = append(c.events, c.chain.Finish(ctx, why)...)
	c.renamed = reason == string(openai.FinishReasonStop) && c.chain.Report().Calls > 0
}

// differs reports whether the events are anything but the text that came in.
func (c *choice) differs() bool {
	if c.chain.Showing() || c.called && c.chain.Parsing() {
		return true
	}
	in := c.in
	for i := range c.events {
		e := &c.events[i]
		if e.Kind != abi.Content || !bytes.HasPrefix(in, []byte(e.Text)) {
			return true
		}
		in = in[len(e.Text):]
	}
	return len(in) > 0 && (c.done || !c.chain.Holding())
}

// prune takes calls that were cut or taken back out of the events, as far as nobody has
// seen their beginning. Who has is told.
func (c *choice) prune() {
	kept := c.events[:0]
	for _, e := range c.events {
		if e.Kind == wire.Void || e.Kind == abi.Cut {
			start := len(kept) - 1
			for start >= 0 && (kept[start].Kind != abi.CallStart || kept[start].Index != e.Index) {
				start--
			}
			if start >= 0 {
				kept = kept[:start]
				continue
			}
		}
		kept = append(kept, e)
	}
	c.events = kept
}
