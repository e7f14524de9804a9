// Package demo is a provider that is built in and needs no network and no key. It
// answers as a model that writes its tool calls as text, in the format that its
// name says, so that everything behind a provider can be tried at once.
//
// The models are the formats of package formats, such as hermes and kimi_k2; custom;
// native, which gives correct tool_calls; and text, which never calls. What a
// model does depends on the request alone and is the same each time; only the
// field created is the clock's. In this order:
//
//   - The conversation ends with results of tools: it answers with them, in text.
//   - No tools are offered, or tool_choice is "none": it answers in text.
//   - tool_choice is "required" or names a function: it calls, whatever the prompt.
//   - The prompt, the last message of the user, has the word "hello" or "hi": it
//     answers in text.
//   - Otherwise it calls the first tool. With the word "two" or "both", or with
//     "and the time", it calls two tools, or the same one twice if there is one.
//
// With the word "think" or "why" it reasons first. Arguments are the schema's
// required properties. A string is a value of its enum, else a capitalised word of
// the prompt that does not begin a sentence ("Oslo" in "What is the weather in
// Oslo?"), the second such word in the second call, else "demo". A number is 3, a
// boolean true.
//
// The format custom is "<<call NAME ARGUMENTS>>", the arguments being JSON, for a
// parser that is declared in the configuration: start "<<call ", end ">>", body
// name_json.
package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
)

// DefaultDelay is the pause before each delta.
const DefaultDelay = 5 * time.Millisecond

// Config says how a demo writes.
type Config struct {
	// Delay is the pause before each delta of a stream, and before a whole answer;
	// 0 means DefaultDelay, a negative one none.
	Delay time.Duration
	// ChunkRunes is how many characters a delta has, wherever that cuts the format's
	// markers; 0 means 3 and 4 in turn.
	ChunkRunes int
}

// Provider is the demo. It is safe for concurrent use.
type Provider struct {
	delay time.Duration
	runes int
}

var (
	_ gateway.Provider    = (*Provider)(nil)
	_ gateway.ModelLister = (*Provider)(nil)
)

// New returns a demo.
func New(c Config) *Provider {
	if c.Delay == 0 {
		c.Delay = DefaultDelay
	}
	return &Provider{delay: max(c.Delay, 0), runes: max(c.ChunkRunes, 0)}
}

// Models implements [gateway.ModelLister]: the names of the formats.
func (p *Provider) Models(context.Context) ([]string, error) {
	var names []string
	for _, f := range models() {
		names = append(names, f.name)
	}
	return names, nil
}

// Chat implements [gateway.Provider]. A model that does not exist is an error of
// Kind NotFound that lists those that do.
func (p *Provider) Chat(ctx context.Context, model string, req *gateway.Request) (gateway.Reply, error) {
	f, ok := formatOf(model)
	if !ok {
		names, _ := p.Models(ctx) // cannot fail
		e := gateway.Errorf(gateway.NotFound, "model_not_found",
			"The demo has no model %q; it has %s.", model, strings.Join(names, ", "))
		e.Param = "model"
		return nil, e
	}
	body := req.Body(model)
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, &gateway.Error{Kind: gateway.Invalid, Message: "The demo cannot read the request: " + err.Error()}
	}
	w := newWriter(model, body, f.write(decide(&r)))
	reply := &reply{delay: p.delay, header: http.Header{"X-Request-Id": {w.id}}}
	if req.Stream {
		reply.frames = w.stream(p.runes, r.StreamOptions.IncludeUsage)
		reply.streamed = true
		reply.header.Set("Content-Type", "text/event-stream")
	} else {
		reply.frames = []gateway.Frame{w.whole()}
		reply.header.Set("Content-Type", "application/json")
	}
	reply.begin(ctx)
	return reply, nil
}
