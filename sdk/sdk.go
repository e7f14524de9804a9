// Package sdk is what the author of a parser plugin imports. It needs nothing
// but the standard library and no JSON package, so that a plugin stays small.
//
// A parser turns one region of a model's output, which begins at one of the
// parser's triggers, into events. It is fed the region in pieces, cut anywhere,
// and must give the same joined events however it was cut (package sdktest holds
// it to that). It says where the region ends, and gives back what it cannot read;
// it never fails a request.
//
//	func init() { sdk.Register(sdk.Spec{Name: "mine", Priority: 60, …}) }
//	func main() {}
//
// "callgate plugin new" writes such a plugin with its tests, and "callgate plugin build"
// compiles it: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared.
package sdk

import "github.com/callgate/callgate/sdk/abi"

// What both sides of the border share, under the names that authors use. Package
// abi describes each.
type (
	// Event is one thing that a parser found.
	Event = abi.Event
	// Kind says what an Event is.
	Kind = abi.Kind
	// Verdict is what CanParse says.
	Verdict = abi.Verdict
	// Reason is why the output ended.
	Reason = abi.Reason
	// Options are what a parser is opened with.
	Options = abi.Options
	// Tool is an offered tool.
	Tool = abi.Tool
	// Param is a parameter of a tool.
	Param = abi.Param
	// Types are the JSON types of a parameter.
	Types = abi.Types
)

// The verdicts of CanParse and the reasons of Finish.
const (
	No     = abi.No
	Yes    = abi.Yes
	Maybe  = abi.Maybe
	Stop   = abi.Stop
	Length = abi.Length
)

// Parser reads one region of one choice of one reply.
type Parser interface {
	// Feed reads the next bytes of the region; the first begin with the trigger.
	// text is only valid during the call. After it has written End or Malformed
	// a parser is not fed again.
	Feed(text []byte, out *Out)
	// Finish is called when the output ends before the region did.
	Finish(reason Reason, out *Out)
}

// Reusable is a Parser that can read another region when it is done with one. The glue
// keeps it and its memory, also over the reset between responses, so that a region begins
// without an allocation.
type Reusable interface {
	Parser
	// Reset makes the parser as New would have made it. What the last region was, and where
	// in it the parser stopped, must make no difference.
	Reset(Options) error
}

// Spec is a parser and what the manifest says of it.
type Spec struct {
	abi.Parser
	// CanParse looks at the first bytes of a region (at most abi.MaxHead) and
	// says whether they are this parser's. No and Yes must not change with more
	// text. A nil CanParse is always Yes.
	CanParse func(head []byte) Verdict
	// New makes a parser for a region. An error means that the options are
	// refused; the gateway then treats the parser as failed.
	New func(Options) (Parser, error)
}

// Out takes a parser's events. A parser has one call open at a time.
type Out struct {
	buf   []byte
	next  int  // index of the next call
	open  int  // index of the open call
	last  Kind // of the last event, if more text can be added to it
	at    int  // where its text begins in buf
	ended bool
}

// Content writes text of the answer.
func (o *Out) Content(text []byte) { o.text(abi.Content, text) }

// Reasoning writes text of the model's reasoning.
func (o *Out) Reasoning(text []byte) { o.text(abi.Reasoning, text) }

// CallStart begins a call. id is what the model wrote, if it wrote one; the
// gateway makes one otherwise. The host may show the call to the client at once,
// so the name must be sure.
func (o *Out) CallStart(name, id string) {
	o.open = o.next
	o.next++
	o.put(Event{Kind: abi.CallStart, Index: o.open, Name: name, ID: id})
}

// Args writes the next bytes of the open call's arguments, which may never be
// taken back.
func (o *Out) Args(b []byte) { o.text(abi.Args, b) }

// text adds to the last event if that is of the same kind, so that what a parser writes in
// many pieces crosses the border as one. What is too long for one is several, none of which
// ends inside a character.
func (o *Out) text(kind Kind, b []byte) {
	if len(b) == 0 {
		return
	}
	for len(b) > abi.MaxText {
		n := abi.MaxText
		for n > abi.MaxText-3 && b[n]&0xc0 == 0x80 {
			n--
		}
		o.text(kind, b[:n])
		b = b[n:]
	}
	if o.last != kind || len(o.buf)-o.at+len(b) > abi.MaxText {
		o.buf, o.at = abi.OpenText(o.buf, kind, o.open)
		o.last = kind
	}
	o.buf = append(o.buf, b...)
	abi.CloseText(o.buf, o.at)
}

// CallEnd says that the open call is complete.
func (o *Out) CallEnd() { o.put(Event{Kind: abi.CallEnd, Index: o.open}) }

// Cut says that the output ended inside the open call, which is void.
func (o *Out) Cut() { o.put(Event{Kind: abi.Cut, Index: o.open}) }

// Malformed gives bytes from to to of the region back, counted from its start.
// The region ends there and an open call is void.
func (o *Out) Malformed(from, to int) {
	o.ended = true
	o.put(Event{Kind: abi.Malformed, From: from, To: to})
}

// End says that the region ended at byte consumed, counted from its start.
func (o *Out) End(consumed int) {
	o.ended = true
	o.put(Event{Kind: abi.End, To: consumed})
}

// Repair reports that the parser changed what the model wrote, and how:
// args_json for arguments that were not strict JSON.
func (o *Out) Repair(how string) { o.put(Event{Kind: abi.Repair, Name: how}) }

// Ended reports whether End or Malformed was written.
func (o *Out) Ended() bool { return o.ended }

// Reset makes o ready for another region. It keeps o's memory.
func (o *Out) Reset() { *o = Out{buf: o.buf[:0]} }

// Take returns the encoded events so far and begins a new list. Only the glue and
// tests call it. The bytes are valid until the next event is written.
func (o *Out) Take() []byte {
	b := o.buf
	o.buf, o.last = o.buf[:0], 0
	return b
}

func (o *Out) put(e Event) {
	o.buf, o.last = abi.AppendEvent(o.buf, e), 0
}

// FindTool returns the offered tool called name, or nil.
func FindTool(tools []Tool, name string) *Tool {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}

// FindParam returns the tool's parameter called name, or nil.
func FindParam(t *Tool, name string) *Param {
	if t == nil {
		return nil
	}
	for i := range t.Params {
		if t.Params[i].Name == name {
			return &t.Params[i]
		}
	}
	return nil
}
