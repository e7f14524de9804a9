package toolcall

import (
	"strconv"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

// entry is what an entry of tool_calls says.
type entry struct {
	said      said
	place     int       // in the array, where nothing but that says which call it is of, or -1
	arguments []byte    // the text; nil if there is none
	text      wire.Span // in the entry, as a string of JSON
	object    bool      // arguments came as JSON and not as a string
	elsewhere bool      // they, or the name, came in another place than OpenAI's
	indexed   bool      // it has an index, be it one or not
}

// readEntry reads an entry. Its arguments are decoded into buf where that is needed.
func readEntry(e, buf []byte) entry {
	f := entry{said: said{index: -1}, place: -1}
	function, custom, flat := false, false, false
	wire.Members(e, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "index":
			f.indexed = !v.IsNull(e)
			if n, err := strconv.Atoi(string(v.Of(e))); err == nil && n >= 0 {
				f.said.index = n
			}
		case "id":
			f.said.id = wire.Unquote(v.Of(e))
		case "type":
			t := wire.Unquote(v.Of(e))
			f.said.typed = t == string(openai.ToolTypeFunction)
			custom = custom || t == "custom"
		case "function":
			function = !v.IsNull(e)
			f.readFunction(e, v, buf)
		case "custom":
			custom = true
		case "name", "arguments":
			flat = flat || !v.IsNull(e)
		}
		return true
	})
	if flat && !function && !custom {
		f.elsewhere = true
		f.readFunction(e, wire.Span{End: len(e)}, buf)
	}
	f.said.foreign = custom && !function
	return f
}

// readFunction reads an object with the name and the arguments: function, or the entry itself, as Cohere and Cloudflare
// have their calls. Cohere and Anthropic call the arguments parameters and input; without them the call would be made
// with none. See LiteLLM's llms/cohere/chat/transformation.py.
func (f *entry) readFunction(e []byte, function wire.Span, buf []byte) {
	var other wire.Span
	wire.Members(e, function.Start, func(key []byte, v wire.Span) bool {
		switch {
		case string(key) == "name" && !v.IsNull(e):
			f.said.name = wire.Unquote(v.Of(e))
		case string(key) == "arguments" && !v.IsNull(e) && e[v.Start] == '"':
			f.arguments, f.text = wire.AppendDecoded(buf, v.Of(e)), v
		case string(key) == "arguments" && !v.IsNull(e):
			f.arguments, f.object = v.Of(e), true
		case (string(key) == "parameters" || string(key) == "input") && e[v.Start] == '{' && !wire.Blank(e[v.Start+1:v.End-1]):
			other = v // an empty one says nothing: the arguments may follow
		}
		return true
	})
	if f.arguments == nil && !other.Empty() {
		f.arguments, f.object, f.elsewhere = other.Of(e), true, true
	}
}

// anonymous reports whether an entry does not say which call it is of.
func (f *entry) anonymous() bool { return f.said.id == "" && f.said.name == "" }

// says reports whether there is anything in the entry but its index.
func (f *entry) says() bool {
	return !f.anonymous() || f.said.foreign || !wire.Blank(f.arguments)
}

// single reads the one call of a choice of the frame at hand that stands where a list belongs.
func (s *stage) single(c *choice, place int) {
	h := &s.current
	p := &h.frame.Choices()[place]
	f := readEntry(p.Calls.Of(h.frame.Data), s.memory[:0])
	if !f.says() {
		return
	}
	piece := piece{place: place, at: p.Calls}
	s.take(c, &f, &piece)
	if !f.object {
		s.keepMemory(f.arguments)
	}
	if piece.call != nil {
		piece.call.repair(s.validator, onceList, repair.InvalidJSON, "calls_object")
	}
	h.pieces = append(h.pieces, piece)
}

// entries reads the entries of a choice of the frame at hand.
func (s *stage) entries(c *choice, place int) {
	h := &s.current
	p := &h.frame.Choices()[place]
	data := h.frame.Data
	alone := !several(data, p.Calls)
	wire.Elements(data, p.Calls.Start, func(n int, v wire.Span) bool {
		piece := piece{place: place, at: v}
		if data[v.Start] == '{' {
			f := readEntry(v.Of(data), s.memory[:0])
			if f.said.index < 0 && f.anonymous() && !alone {
				f.place = n
			}
			s.take(c, &f, &piece)
			if !f.object {
				s.keepMemory(f.arguments)
			}
			if alone && len(h.frame.Choices()) == 1 && p.Reason == "" {
				s.shape.learn(h.frame, &f, &piece)
			}
		}
		h.pieces = append(h.pieces, piece)
		return true
	})
}

// several reports whether an array has more than one element.
func several(data []byte, list wire.Span) (more bool) {
	wire.Elements(data, list.Start, func(n int, _ wire.Span) bool {
		more = n > 0
		return !more
	})
	return more
}

// maxMemory is how much memory is kept for the arguments of the next entry.
const maxMemory = 64 << 10

// keepMemory keeps the memory of arguments for the next ones, if it is not much.
func (s *stage) keepMemory(args []byte) {
	if cap(args) <= maxMemory {
		s.memory = args
	}
}

// take takes an entry in, and fills in the piece that stands for it.
func (s *stage) take(c *choice, f *entry, p *piece) {
	v := s.validator
	call, begins := c.callOf(v, f, s.whole)
	if call == nil {
		return
	}
	s.recent.add(call)
	p.call, p.begins = call, begins
	if f.said.index != call.ordinal && (!s.whole || f.indexed) { // a whole answer needs none
		call.repair(v, onceIndex, repair.BadIndex, "index")
	}
	call.edited = call.edited || call.dropped || !s.whole && f.said.index != call.index
	if call.saidAgain(f) {
		call.leaveOut(v, p)
		return
	}
	if p.kept = call.said.foreign || call.closed; p.kept {
		call.late(v, f)
		return
	}
	if !begins {
		call.again(v, f)
	}
	if f.object || f.elsewhere {
		call.repair(v, onceObject, repair.InvalidJSON, "args_object")
	}
	s.feed(p, f.arguments)
}

// leaveOut leaves out an entry that says a call once more.
func (c *call) leaveOut(v *validator, p *piece) {
	p.dropped, c.edited = !v.report, true
	if c.counted.first(onceAgain) {
		c.fault(v, repair.BadID)
		v.outcome.Repaired("call_repeated")
	}
}

// late refuses arguments behind the end of the call.
func (c *call) late(v *validator, f *entry) {
	if !c.said.foreign && !wire.Blank(f.arguments) {
		c.refuse(v, f.arguments, &repair.Problem{Class: repair.InvalidJSON,
			Message: "Arguments follow the end of the call.", Hint: "Call the tool again."})
	}
}

// feed gives a piece's call its arguments.
func (s *stage) feed(p *piece, args []byte) {
	c, v := p.call, s.validator
	p.from = len(c.args.out)
	c.feed(v, args, s.whole)
	if !c.shown && (c.args.begun || s.whole || v.certain(c.said.name)) {
		c.show(v)
	}
	if c.approve(v) {
		s.replaced(c)
	}
	if !s.whole {
		of := s.choiceOf(c)
		if c.approved {
			of.native(v, c)
		}
		s.part(of)
	}
	p.to = len(c.args.out)
	p.from = min(p.from, p.to)
}

// part decides about the calls of a choice that have the id of another.
func (s *stage) part(of *choice) {
	for _, c := range s.recent {
		if c.choice == of.index {
			of.part(s.validator, c)
		}
	}
}

// shape is the chunk before, if it went on with one call and did nothing else: a chunk of the
// same shape goes on with the same call, and is not read.
type shape struct {
	call   *call // nil: there is none
	number int
	entry  wire.Span // in the chunk; End counts from the chunk's end
}

// learn takes note of a chunk that was read.
func (s *shape) learn(frame *wire.Frame, f *entry, p *piece) {
	c := p.call
	_, number := frame.Hole()
	if c == nil || p.kept || !c.shown || c.dropped || f.text.Empty() || !f.anonymous() || f.said.index != c.index || number == 0 {
		return
	}
	*s = shape{call: c, number: number, entry: wire.Span{Start: p.at.Start, End: len(frame.Data) - p.at.End}}
}

// goesOn reports whether a frame has the shape of the one before, and reads it as that.
func (s *stage) goesOn(f *wire.Frame) bool {
	if s.shape.call == nil {
		return false
	}
	if _, put := f.Events(0); put {
		return false
	}
	hole, number := f.Hole()
	if number != s.shape.number {
		return false
	}
	p := piece{call: s.shape.call, at: wire.Span{Start: s.shape.entry.Start, End: len(f.Data) - s.shape.entry.End}}
	s.recent.add(p.call)
	args := wire.AppendDecoded(s.memory[:0], hole.Of(f.Data))
	s.keepMemory(args)
	s.feed(&p, args)
	s.current.begin(f)
	s.current.pieces = append(s.current.pieces, p)
	return true
}
