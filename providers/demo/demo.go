// Package demo is a provider that is built in and needs no network and no key. It
// answers as a model that writes its tool calls as text, in the format that its
// name says, or as one that does something wrong, so that everything behind a
// provider can be tried at once.
//
// The models are the formats of package formats, such as hermes and kimi_k2; custom;
// native, which gives correct tool_calls; text, which never calls; echo, which says what
// the prompt says, markup and all, for trying parsers; the faults below, the models that
// need a guard, and those without support for tools. What a model does depends on the
// request alone and is the same each time; only the field created is the clock's, and
// rate_limited and flaky count requests. All but echo do this, in this order:
//
//   - The conversation ends with results of tools: it answers with them, in text.
//   - No tools are offered, or tool_choice is "none": it answers in text.
//   - tool_choice is "required" or names a function: it calls, whatever the prompt.
//   - The prompt, the last message of the user, has the word "hello" or "hi": it
//     answers in text. A message with "You MUST call", "was not carried out" or "was not
//     accepted", which a gateway writes in the user's place, is no prompt if there is
//     another.
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
//
// An answer in text is JSON where response_format wants it: the schema's required properties, as
// in arguments, or an object with the text. So it is where a message of the system has "with one
// JSON value and nothing else", with the schema behind "It must fit this JSON schema:".
//
// The usage counts four characters a token: of the messages' texts, their calls and the
// tools for the prompt.
//
// # Faults in calls
//
// These models answer as native, but with something wrong in their calls, whole and
// streamed. What they answer without a call is right, so that a conversation in
// which the calls are repaired goes on to its end.
//
//	broken_args    arguments with trailing commas, bare keys, single quotes, Python's words
//	wrong_index    two calls that both have the index 0, with ids functions.NAME:0 and :1
//	no_index       the deltas of calls have no index
//	missing_id     calls have no id
//	empty_args     arguments are the empty string, in place of {}
//	encoded_args   arguments are a JSON string that holds a JSON string
//	object_args    arguments are an object, not a string
//	concatenated   one call has the arguments of two, {"city":"Oslo"}{"city":"Bergen"};
//	               they are equal if the prompt names one city only
//	wrong_types    numbers and booleans are strings; there are those that the schema
//	               does not require, too
//	wrong_name     GetWeather, and get-weather in the second call, for get_weather
//	unknown_name   a tool that was not offered
//	irreparable    the arguments of the last call end in the middle
//	stop_reason    finish_reason is "stop"
//	malformed      finish_reason is "malformed_function_call", with no content and no call
//
// # Faults of the upstream
//
// These models fail as an upstream does, with the errors that a provider with a real
// one gives, whether or not they would call. What they answer is native's answer.
//
//	rate_limited         429 with Retry-After: 1, the first time that a body comes within
//	                     a minute
//	rate_limited_always  429 with Retry-After: 1
//	unavailable          503
//	flaky                503 for the first of every two requests
//	auth                 the key is refused
//	slow                 the first token, or the whole answer, comes after 3 seconds
//	hang                 there is no answer until the client leaves, or a timer runs out
//	cut                  the connection breaks in the middle of the text
//	cut_call             the connection breaks in the middle of the last call's arguments;
//	                     an answer without calls is complete
//	error_in_stream      behind the first chunk, which has the role only, the stream ends
//	                     with {"error":…}; a whole answer is that object, with status 200
//	late_error           the same in the middle of the text
//	empty                neither text nor calls, finish_reason is "stop"
//
// # Models that need a guard
//
// What these answer is well formed, and of no use to an application.
//
//	ghost          where native calls it answers that it is done: "Done! I've deleted the
//	               task.", by the name of the tool whose verb the prompt has, else of
//	               the first. It calls if tool_choice demands a call, or if a message of
//	               the user or the system behind the prompt says "You MUST call": then
//	               the tool that stands behind these words
//	ghost_always   the same, and it never calls
//	ignores_tools  it answers as if there were no tools, and counts none in its usage
//	loops          it calls the first tool, with the same arguments each time, also behind
//	               results. Without tools, or with tool_choice "none", it answers with
//	               the last result
//	by_title       it writes names for ids. First it calls the first tool, say list_tasks.
//	               Once a tool other than the last has answered, it calls the last, say
//	               complete_task, with the words between the prompt's quotes as the first
//	               required string or integer; then it answers with the result. When a
//	               message behind the prompt says that the call "was not carried out",
//	               it takes the first id that the message names and a result has, as the
//	               member of that name or as id; if there is none, it gives up
//	judge          what guard_judge asks: it answers "yes" where the question says that no
//	               call was made, else "no"
//
// # Faults in answers that are to be JSON
//
// What these answer where JSON is wanted, and they do not call, is not what was asked for.
// Without that they are native.
//
//	json_fenced    it stands in a code fence
//	json_prose     text stands around it
//	json_broken    trailing commas, bare keys, single quotes, Python's words
//	json_string    it is a JSON string that holds the JSON
//	json_types     numbers and booleans are strings
//	json_missing   the last of the required properties is missing, until a message says that
//	               the answer "was not accepted"
//	json_missing_always  the same, whatever is said
//	json_text      the answer is a sentence, until the same is said
//	json_twice     there are two values, the second with other numbers and truth values, until
//	               the same is said
//	json_open      the last bracket is missing, though finish_reason is "stop", until the same
//	               is said
//	no_format      a request with response_format is refused with 400; without one it is
//	               native
//
// # Models without support for tools
//
// The models no_tools/FORMAT are upstreams that know nothing of tools. A request with
// tools, tool_choice, tool_calls or a message of the role tool is refused with 400. They
// work from the messages' texts alone:
//
//   - Tools are defined as the official chat template of the format's models prints
//     them, with what it says of the form of calls, in a message of the system; and in
//     front of a user's text where the template has them there.
//   - Results stand at the beginning of a user's message, in the template's form. Other
//     text may follow. The message of the assistant before has a call in the format.
//   - "You MUST call" in a message of the system, or in the user's last, demands a call
//     as tool_choice does: of the tool that is named behind it in the line, or of any.
//
// They test what writes such messages, so they say what they miss: "I see no tools."
// where the system or the user speaks of tools and none are defined in the right form,
// and "I see no result." and "I see no call." for results and the calls before them.
//
// # Models of the examples
//
// The model adstudio makes an advertisement with the tools of examples/adstudio, whatever a
// gateway puts in front of their names: it searches for a voice and reads the ad's state at
// once, drafts the voice, drafts music and effects at once, and names what there is. In a later
// turn it does that for the parts that the prompt names. What tools have answered it reads from
// their results; where no voice is found it searches with less. The ad's id, as ad_7f, its
// language and its market are in the first lines of the user's message, up to an empty one:
// "language th", "market TH". Without tools it answers with a name for the ad. Its usage says how
// much of the prompt a cache would have had. adstudio-premium does the same under another name,
// and adstudio-hermes writes its calls in the format hermes.
package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// Defaults of Config.
const (
	// DefaultDelay is the pause before each delta.
	DefaultDelay = 5 * time.Millisecond
	// DefaultFirstToken is how long a stream may wait for its first token.
	DefaultFirstToken = 60 * time.Second
	// DefaultTotal is how long a whole answer may take.
	DefaultTotal = 10 * time.Minute
)

// Config says how a demo writes.
type Config struct {
	// Name is the provider's name in messages; "" means demo.
	Name string
	// Delay is the pause before each delta of a stream, and before a whole answer;
	// 0 means DefaultDelay. A negative one means none, and that the model slow answers
	// at once.
	Delay time.Duration
	// ChunkRunes is how many characters a delta has, wherever that cuts the format's
	// markers; 0 means 3 and 4 in turn. Those of a very long text have more.
	ChunkRunes int
	// FirstToken and Total are the timers of a request that is streamed and of one
	// that is not; 0 means the default. They end the models slow and hang, and so does
	// Whole, the timer of a whole answer; 0 means half of Total, at least 5 minutes.
	FirstToken, Whole, Total time.Duration
	// Now is the clock that dates answers and counts the minute of the model
	// rate_limited; nil means time.Now.
	Now func() time.Time
}

// Provider is the demo. It is safe for concurrent use.
type Provider struct {
	name                         string
	delay, slow                  time.Duration
	runes                        int
	firstToken, wholeTime, total time.Duration
	now                          func() time.Time
	models                       []model
	memory                       memory
}

var (
	_ gateway.Provider    = (*Provider)(nil)
	_ gateway.ModelLister = (*Provider)(nil)
	_ gateway.ModelFinder = (*Provider)(nil)
)

// New returns a demo.
func New(c Config) *Provider {
	p := &Provider{
		name: cmp.Or(c.Name, "demo"), delay: max(cmp.Or(c.Delay, DefaultDelay), 0), slow: slowStart, runes: max(c.ChunkRunes, 0),
		firstToken: cmp.Or(c.FirstToken, DefaultFirstToken), wholeTime: cmp.Or(c.Whole, max(cmp.Or(c.Total, DefaultTotal)/2, upstream.DefaultWhole)), total: cmp.Or(c.Total, DefaultTotal),
		now: c.Now, models: models(),
	}
	if c.Delay < 0 {
		p.slow = 0
	}
	if p.now == nil {
		p.now = time.Now
	}
	return p
}

// Models implements [gateway.ModelLister]: the names of [Formats], [Echo], [Faults],
// [Guards], [Structured], [NoTools] and [Scripts].
func (p *Provider) Models(context.Context) ([]string, error) { return namesOf(p.models), nil }

// HasModel implements [gateway.ModelFinder]: the names of Models, with demo- before them or without.
func (p *Provider) HasModel(name string) bool {
	_, err := p.model(name)
	return err == nil
}

// Chat implements [gateway.Provider]. A model that does not exist is an error of
// Kind NotFound that lists those that do.
func (p *Provider) Chat(ctx context.Context, name string, req *gateway.Request) (gateway.Reply, error) {
	m, err := p.model(name)
	if err != nil {
		return nil, err
	}
	if e := req.Foreign(); e != nil {
		return nil, e
	}
	body := req.With(name, nil).Join()
	if err := req.Announce(wire.Pieces{body}); err != nil {
		return nil, err
	}
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, unreadable(err)
	}
	if m.refuse != nil {
		if err := m.refuse(ctx, p, ask{body, req.Stream, &r}); err != nil {
			return nil, err
		}
	}
	w := newWriter(m, body, &r, p.now())
	if m.end == inCall && len(w.calls) == 0 {
		m.end = atEnd
	}
	reply := &reply{delay: p.delay, streamed: req.Stream, end: io.EOF, header: http.Header{"X-Request-Id": {w.id}}}
	ctx, reply.cancel = context.WithCancel(ctx)
	reply.wait = func(d time.Duration) error { return wait(ctx, d) }
	if req.Stream {
		p.stream(ctx, m, w, reply, r.StreamOptions.IncludeUsage)
		return reply, nil
	}
	if err := p.whole(ctx, m, w, reply); err != nil {
		reply.cancel()
		return nil, err
	}
	return reply, nil
}

func (p *Provider) model(name string) (model, error) {
	name = strings.TrimPrefix(name, "demo-")
	for _, m := range p.models {
		if m.name == name {
			return m, nil
		}
	}
	names, similar := namesOf(p.models), ""
	if near := gateway.Near(name, names); len(near) > 0 {
		similar = " Similar names: " + strings.Join(near, ", ") + "."
	}
	e := gateway.Errorf(gateway.NotFound, "model_not_found", "The demo has no model %q.%s It has %s.", gateway.ExcerptOf(name, 80), similar, strings.Join(names, ", "))
	e.Param = "model"
	return model{}, e
}

// stream fills a reply that is a stream.
func (p *Provider) stream(ctx context.Context, m model, w *writer, reply *reply, withUsage bool) {
	reply.header.Set("Content-Type", "text/event-stream")
	if m.slow {
		reply.first = func() error { return p.await(ctx, p.slow, true) }
	}
	s := w.stream(p.runes, withUsage)
	if m.end != atEnd {
		s.cut(m.end)
		reply.end = p.brokenOff(true)
	}
	if m.inBand {
		s.frames = append(s.frames, wire.Event([]byte(inBandError)))
	}
	reply.frames = s.frames
}

// whole fills a reply that is a whole answer. As with a real upstream the answer is
// there before the reply is, or there is an error.
func (p *Provider) whole(ctx context.Context, m model, w *writer, reply *reply) error {
	reply.header.Set("Content-Type", "application/json")
	if m.slow {
		if err := p.await(ctx, p.slow, false); err != nil {
			return err
		}
	}
	frame := w.whole()
	switch {
	case m.inBand:
		frame = gateway.Frame{Raw: []byte(inBandError), Data: []byte(inBandError)}
	case m.end != atEnd:
		return p.brokenOff(false)
	}
	reply.frames = []gateway.Frame{frame}
	return nil
}

// unreadable says what the demo cannot read of a request, without the names of its types.
func unreadable(err error) *gateway.Error {
	e := &gateway.Error{Kind: gateway.Invalid, Message: "The demo cannot read the request: " + err.Error() + "."}
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		e.Param = wrong.Field
		e.Message = fmt.Sprintf("The demo cannot read %s: a value of JSON type %s does not belong there.", cmp.Or(wrong.Field, "the request"), wrong.Value)
	}
	return e
}
