package gateway

import (
	"bytes"
	"encoding/json"
	"strconv"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/internal/span"
	"github.com/callgate/callgate/gateway/repair"
)

// nativeChoice is the calls of one choice.
type nativeChoice struct {
	index  int
	calls  []*nativeCall
	closed bool
}

// nativeCall is a call that the upstream makes itself, as far as it has come.
type nativeCall struct {
	wire     int    // its index towards the client
	upstream int    // its index by the upstream, -1 if it has none
	theirs   string // its id by the upstream
	id       string // its id towards the client
	name     string
	pieces   int // in which the name came
	head     []byte
	args     repair.Args
	text     []byte // the arguments as they go out
	begun    bool   // arguments came
	shown    bool   // its name is certain and goes out
	approved bool   // its arguments are known to be good
	closed   bool
	indexed  bool // a repair of its index was counted

	edited   bool   // something besides the arguments is mended in the frames at hand
	in, went []byte // the arguments of the frames at hand, as they came and as they go out
}

// holding reports whether the call is not certain yet: its name may go on, its
// arguments wait, or it is to be complete and good before anyone sees it.
func (c *nativeCall) holding(strict bool) bool {
	if c.closed {
		return false
	}
	return !c.shown || c.args.Holding() || strict && !c.approved
}

// entryFields are the members of an entry of tool_calls.
type entryFields struct {
	index     int // -1: there is none
	id, name  string
	arguments []byte // the text; nil if there is none
	object    bool   // arguments came as JSON and not as a string
	typed     bool   // type is there
}

func readEntry(e []byte) entryFields {
	f := entryFields{index: -1}
	span.Members(e, 0, func(key []byte, v span.Span) bool {
		switch string(key) {
		case "index":
			f.index = number(v.Of(e), -1)
		case "id":
			f.id = unquote(v.Of(e))
		case "type":
			f.typed = !v.IsNull(e)
		case "function":
			f.readFunction(e, v)
		}
		return true
	})
	return f
}

func (f *entryFields) readFunction(e []byte, function span.Span) {
	span.Members(e, function.Start, func(key []byte, v span.Span) bool {
		switch {
		case string(key) == "name" && !v.IsNull(e):
			f.name = unquote(v.Of(e))
		case string(key) == "arguments" && !v.IsNull(e) && e[v.Start] == '"':
			f.arguments = []byte(unquote(v.Of(e)))
		case string(key) == "arguments" && !v.IsNull(e):
			f.arguments, f.object = v.Of(e), true
		}
		return true
	})
}

// entry reads one entry and returns what stands in its place: nothing while its call
// is not certain, else usually one.
func (n *nativeReply) entry(c *nativeChoice, e []byte, place int) [][]byte {
	f := readEntry(e)
	call := n.find(c, &f, place)
	if call == nil && f.id == "" && f.name == "" { // of no call that anyone has begun
		return [][]byte{bytes.Clone(e)}
	}
	if call == nil {
		call = n.begin(c, &f)
		call.head = bytes.Clone(e)
	} else if f.name != "" {
		call.addName(f.name)
	}
	if n.Streamed() && f.index != call.wire {
		call.edited = true
		n.badIndex(call)
	}
	var out []byte
	if f.arguments != nil {
		if !call.begun {
			call.begin(n.judge)
		}
		if f.object {
			call.edited = true
			n.repaired("args_object")
		}
		call.in = append(call.in, f.arguments...)
		out = call.args.Feed(f.arguments)
		call.went = append(call.went, out...)
		call.text = append(call.text, out...)
	}
	if !call.shown {
		if n.Streamed() && !call.begun && n.judge.continues(call.name) {
			return nil
		}
		return n.show(c, call)
	}
	n.approve(call)
	return [][]byte{call.write(e, false, out, n.Streamed())}
}

// find is the call that an entry goes on with; nil if it begins another. An id decides,
// then an index, then the order: upstreams are known to give all calls the index 0, no
// index, an id with every piece, or the name with every piece.
func (n *nativeReply) find(c *nativeChoice, f *entryFields, place int) *nativeCall {
	if !n.Streamed() || len(c.calls) == 0 {
		return nil
	}
	last := c.calls[len(c.calls)-1]
	if f.id != "" {
		for _, call := range c.calls {
			if call.theirs == f.id && (f.name == "" || !call.args.Complete()) {
				return call
			}
		}
	}
	if f.index >= 0 {
		last = nil
		for _, call := range c.calls {
			if call.upstream == f.index {
				last = call
			}
		}
		if last == nil && f.id == "" && f.name == "" { // an index that nobody has begun
			return c.calls[len(c.calls)-1]
		}
	}
	switch {
	case last == nil:
		return nil
	case f.name == "":
		return last
	case f.id != "" && last.theirs != "": // another call at the same index
		return nil
	case last.args.Complete(), f.name != last.name && last.begun && len(last.in)+len(last.text) > 0:
		return nil
	case f.name != last.name && n.judge.tool(f.name) != nil && n.judge.tool(last.name) != nil:
		return nil
	}
	return last
}

// begin adds a call.
func (n *nativeReply) begin(c *nativeChoice, f *entryFields) *nativeCall {
	call := &nativeCall{wire: len(c.calls), upstream: f.index, theirs: f.id, name: f.name}
	if f.name != "" {
		call.pieces = 1
	}
	c.calls = append(c.calls, call)
	return call
}

func (c *nativeCall) addName(piece string) {
	c.edited = true
	if c.shown || piece == c.name { // some upstreams say it with every piece
		return
	}
	c.name += piece
	c.pieces++
}

func (n *nativeReply) badIndex(call *nativeCall) {
	if !call.indexed {
		call.indexed = true
		n.judge.fault(repair.BadIndex)
		n.repaired("index")
	}
}

// begin makes the call ready for its arguments, whose types its tool decides.
func (c *nativeCall) begin(j *judge) {
	c.begun = true
	name, _ := j.name(c.name)
	c.args.Begin(j.tool(name), MaxDepth)
}

// show decides about the name and the id of a call, and returns its beginning.
func (n *nativeReply) show(c *nativeChoice, call *nativeCall) [][]byte {
	call.shown = true
	name, problem := n.judge.name(call.name)
	switch {
	case problem != nil:
		n.judge.refuse(call.name, string(call.text), problem)
	case name != call.name:
		n.judge.fault(repair.UnknownTool)
		n.repaired("name")
	}
	call.edited = call.edited || name != call.name || call.pieces > 1
	call.name = name
	id, ok := n.ids.claim(c.index, call.theirs, name)
	if !ok {
		call.edited = true
		n.judge.fault(repair.BadID)
		n.repaired("id")
	}
	call.id = id
	if f := readEntry(call.head); !f.typed {
		call.edited = true
		n.repaired("type")
	}
	n.approve(call)
	return [][]byte{call.write(call.head, true, call.text, n.Streamed())}
}

// approve checks a call that is complete, where it waits for that.
func (n *nativeReply) approve(call *nativeCall) {
	if call.approved || !n.judge.strict() || !call.begun || !call.args.Complete() {
		return
	}
	if p := n.check(call); p != nil {
		n.judge.refuse(call.name, string(call.text), p)
	}
	call.approved = true
}

// check says whether a complete call fits its tool.
func (n *nativeReply) check(call *nativeCall) *repair.Problem {
	if n.judge.tool(call.name) == nil {
		return nil
	}
	return n.judge.arguments(call.name, string(call.text))
}

// closeChoice ends the calls of a choice, and returns what is still to be said of
// them.
func (n *nativeReply) closeChoice(c *nativeChoice, reason string) [][]byte {
	if c.closed {
		return nil
	}
	c.closed = n.Streamed()
	var out [][]byte
	for _, call := range c.calls {
		if !call.closed {
			out = append(out, n.closeCall(c, call, reason)...)
		}
	}
	return out
}

func (n *nativeReply) closeCall(c *nativeChoice, call *nativeCall, reason string) [][]byte {
	call.closed = true
	if !call.begun {
		call.begin(n.judge)
	}
	rest, extra, problem := call.args.End()
	call.text = append(call.text, rest...)
	call.went = append(call.went, rest...)
	for _, kind := range call.args.Repairs() {
		n.repaired(kind)
	}
	var out [][]byte
	switch {
	case !call.shown:
		out = n.show(c, call)
	case len(rest) > 0:
		out = [][]byte{call.piece(rest, n.Streamed())}
	}
	switch {
	case problem != nil && reason == string(openai.FinishReasonLength):
		n.judge.warn("truncated_call")
	case problem != nil:
		n.judge.refuse(call.name, string(call.args.Raw()), problem)
	default:
		n.judge.fault(call.args.Class())
		if p := n.check(call); p != nil && !call.approved {
			n.judge.refuse(call.name, string(call.text), p)
		}
		out = append(out, n.split(c, call, extra)...)
	}
	return out
}

// split makes calls of further objects that an upstream has put behind the arguments of
// one, if each of them fits the tool; otherwise nobody knows what was meant.
func (n *nativeReply) split(c *nativeChoice, call *nativeCall, extra [][]byte) [][]byte {
	if len(extra) == 0 {
		return nil
	}
	for _, args := range extra {
		if n.judge.tool(call.name) == nil || n.judge.arguments(call.name, string(args)) != nil || len(c.calls) >= maxCalls {
			n.judge.refuse(call.name, string(call.args.Raw()), &repair.Problem{Class: repair.InvalidJSON,
				Message: "the arguments hold several objects, of which not all fit the tool"})
			all := bytes.Join(extra, nil)
			call.went = append(call.went, all...)
			return [][]byte{call.piece(all, n.Streamed())}
		}
	}
	var out [][]byte
	for _, args := range extra {
		id, _ := n.ids.claim(c.index, "", call.name)
		further := &nativeCall{wire: len(c.calls), upstream: -1, id: id, name: call.name, text: bytes.Clone(args), begun: true, shown: true, approved: true, closed: true, edited: true}
		c.calls = append(c.calls, further)
		out = append(out, further.write([]byte(`{"type":"function","function":{}}`), true, args, n.Streamed()))
	}
	return out
}

// piece is an entry with further arguments and nothing else.
func (c *nativeCall) piece(args []byte, streamed bool) []byte {
	c.edited = true
	return c.write([]byte(`{"function":{}}`), false, args, streamed)
}

// write writes an entry as e with what belongs into it: the call's index, at its
// beginning its id, type and name, and the arguments. Other members stay.
func (c *nativeCall) write(e []byte, begin bool, args []byte, streamed bool) []byte {
	out := []byte{'{'}
	member := func(key string) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(quote(out, key), ':')
	}
	if streamed {
		member("index")
		out = strconv.AppendInt(out, int64(c.wire), 10)
	}
	if begin {
		member("id")
		out = quote(out, c.id)
		member("type")
		out = append(out, `"function"`...)
	}
	var function []byte
	span.Members(e, 0, func(key []byte, v span.Span) bool {
		switch string(key) {
		case "index":
			if streamed {
				return true
			}
			member("index")
			out = append(out, v.Of(e)...)
		case "id", "type":
		case "function":
			function = v.Of(e)
		default:
			member(keyText(key))
			out = append(out, v.Of(e)...)
		}
		return true
	})
	member("function")
	out = append(out, '{')
	start := len(out)
	inner := func(key string) {
		if len(out) > start {
			out = append(out, ',')
		}
		out = append(quote(out, key), ':')
	}
	if begin {
		inner("name")
		out = quote(out, c.name)
	}
	span.Members(function, 0, func(key []byte, v span.Span) bool {
		if k := string(key); k != "name" && k != "arguments" {
			inner(keyText(key))
			out = append(out, v.Of(function)...)
		}
		return true
	})
	inner("arguments")
	out = quote(out, string(args))
	return append(out, '}', '}')
}

// keyText is the name of a member by the text between its quotes.
func keyText(key []byte) string {
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, key...), '"'), &s) != nil {
		return string(key)
	}
	return s
}
