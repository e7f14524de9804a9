package messages

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// content writes the blocks of a message, of which one is open at most.
type content struct {
	print  *printer
	sealed bool   // of thoughts the client wants the signatures alone
	id     string // of the message
	cut    bool   // the answer ends where there was no more room

	open      kind
	call      *call  // that is open
	space     []byte // white space, which begins no block
	next      next   // that an upstream of the Messages API has begun
	ends      []byte // what it says where the open block ends
	signature []byte
	signed    extra // what it says beside that
	// signedBefore says that the client has got the signature of the thoughts that are open.
	signedBefore bool
	args         []byte // of a call in a whole message
	citations    []byte
	spoke        bool // there is a block that says something
}

// next is a block that has begun, of which nothing has come yet.
type next struct {
	kind   kind
	beside []byte // members that it has besides what is read
	event  []byte // and those of the event that begins it, each with a comma in front
}

// write writes an item. No call is open, unless it is of that.
func (c *content) write(it item) error {
	switch it.kind {
	case textBlock:
		return c.writeText(it.text, &it.extra)
	case thinkingBlock:
		return c.writeThought(it)
	case callBlock:
		return c.openCall(it.call)
	case opaqueBlock:
		return c.writeOpaque(it.text, &it.extra)
	case ranBlock:
		return c.writeRan(it.text, it.sign)
	case breakBlock, endBlock, rawBegin, rawDelta:
		return c.writeTheirs(&it)
	case citation:
		return c.cite(it.text, &it.extra)
	}
	return nil
}

// writeTheirs writes what an upstream of the Messages API has said of a block.
func (c *content) writeTheirs(it *item) error {
	switch it.kind {
	case breakBlock:
		c.next = next{kind: it.of, beside: bytes.Clone(it.text), event: bytes.Clone(it.extra.event)}
		return c.close()
	case endBlock:
		if err := c.beginNext(); err != nil {
			return err
		}
		c.ends = append(c.ends[:0], it.text...)
		if c.open == callBlock { // its arguments may be owed
			return nil
		}
		return c.close()
	case rawBegin:
		if err := c.close(); err != nil {
			return err
		}
		c.next = next{event: it.extra.event}
		c.begin(opaqueBlock, string(it.text), "")
		return nil
	case rawDelta:
		err := c.beginNext()
		if err == nil && c.open != noBlock {
			c.print.raw(it.text, it.extra.event)
		}
		return err
	}
	return nil
}

// beginNext opens the block that has begun, if none is open.
func (c *content) beginNext() error {
	switch {
	case c.open != noBlock:
	case c.next.kind == textBlock:
		return c.beginText()
	case c.next.kind == thinkingBlock:
		c.beginThought()
	}
	return nil
}

func (c *content) writeText(in []byte, x *extra) error {
	if c.open != textBlock {
		if blank(in) && c.next.kind != textBlock {
			c.space = append(c.space, in...)
			return nil
		}
		if err := c.beginText(); err != nil {
			return err
		}
	}
	c.print.delta(`text_delta","text":"`, in, x)
	return nil
}

// beginText opens a block of text, with the white space that has waited for one.
func (c *content) beginText() error {
	if err := c.close(); err != nil {
		return err
	}
	c.begin(textBlock, `{"type":"text",`+c.beside(textBlock)+`"text":"`, `"}`)
	if len(c.space) > 0 {
		c.print.delta(`text_delta","text":"`, c.space, nothing)
		c.space = c.space[:0]
	}
	return nil
}

// beside are the members that a block of a kind begins with, each with a comma behind it.
func (c *content) beside(k kind) string {
	if c.next.kind != k || len(c.next.beside) == 0 {
		return ""
	}
	return string(c.next.beside) + ","
}

func (c *content) beginThought() {
	c.begin(thinkingBlock, `{"type":"thinking",`+c.beside(thinkingBlock)+`"thinking":"`, `","signature":""}`)
}

func (c *content) writeThought(it item) error {
	if c.open != thinkingBlock {
		if err := c.close(); err != nil {
			return err
		}
		c.beginThought()
	}
	x := &it.extra
	if it.sign != nil { // that is what it is of
		x = nothing
	}
	if !c.sealed && len(it.text) > 0 {
		c.print.delta(`thinking_delta","thinking":"`, it.text, x)
	}
	if it.sign == nil {
		return nil
	}
	c.signature, c.signed = append(c.signature[:0], it.sign...), it.extra
	if it.extra.ends != nil {
		c.ends = append(c.ends[:0], it.extra.ends...)
	}
	return c.close()
}

func (c *content) writeOpaque(v value, x *extra) error {
	if err := c.close(); err != nil {
		return err
	}
	c.spoke = true
	c.print.object(v, x)
	return nil
}

// cite adds a citation to the text that is open. It may come in front of the text.
func (c *content) cite(v value, x *extra) error {
	if c.open != textBlock {
		if err := c.beginText(); err != nil {
			return err
		}
	}
	if !c.print.whole {
		c.print.citation(v, x)
		return nil
	}
	if len(c.citations) > 0 {
		c.citations = append(c.citations, ',')
	}
	c.citations = append(c.citations, v...)
	return nil
}

// begin opens a block.
func (c *content) begin(k kind, begin, rest string) {
	event := c.next.event
	c.open, c.next = k, next{}
	c.spoke = c.spoke || k != thinkingBlock
	c.print.start([]byte(begin), rest, event)
}

// close ends the open block, if there is one.
func (c *content) close() error {
	k := c.open
	c.open = noBlock
	if k == noBlock {
		return nil
	}
	ends := c.ends
	c.ends = nil
	switch k {
	case callBlock:
		return c.closeCall(ends)
	case opaqueBlock:
		c.print.stop("", ends)
	case thinkingBlock:
		if len(c.signature) == 0 {
			c.signature = append(c.signature, c.seal()...)
		}
		switch {
		case c.signedBefore:
			c.signedBefore = false
		case c.print.whole:
			c.print.dst = append(append(c.print.dst, `","signature":"`...), c.signature...)
		default:
			c.print.delta(`signature_delta","signature":"`, c.signature, &c.signed)
		}
		c.signature, c.signed = c.signature[:0], extra{}
		c.print.stop(`"}`, ends)
	case textBlock:
		if len(c.citations) > 0 {
			c.print.dst = append(append(c.print.dst, `","citations":[`...), c.citations...)
			c.citations = c.citations[:0]
			c.print.stop("]}", ends)
		} else {
			c.print.stop(`"}`, ends)
		}
	}
	return nil
}

// openCall begins the block of a call, with the arguments that have come.
func (c *content) openCall(of *call) error {
	if err := c.close(); err != nil {
		return err
	}
	of.begun, c.call = true, of
	c.space = c.space[:0] // between calls it says nothing
	begin := append(make([]byte, 0, 128), `{"type":"tool_use","id":`...)
	begin = append(append(appendToolID(begin, of.id), `,"name":`...), of.name...)
	if of.caller != nil {
		begin = append(append(begin, `,"caller":`...), of.caller...)
	}
	if len(of.beside) > 0 {
		begin = append(append(begin, ','), of.beside...)
	}
	c.next = next{kind: callBlock, event: of.event}
	c.begin(callBlock, string(append(begin, `,"input":`...)), "{}}")
	args := of.args
	of.args = nil
	c.writeArguments(of, args, nothing)
	return nil
}

func (c *content) writeArguments(of *call, in []byte, x *extra) {
	if len(in) == 0 || !of.fed && blank(in) {
		return
	}
	of.fed = true
	of.progress.feed(in)
	if c.print.whole {
		c.args = append(c.args, in...)
		return
	}
	c.print.delta(`input_json_delta","partial_json":"`, in, x)
}

// closeCall ends the block of a call.
func (c *content) closeCall(ends []byte) error {
	of := c.call
	of.ended, c.call = true, nil
	if !of.fed && !c.cut {
		c.writeArguments(of, []byte("{}"), nothing)
	}
	if !c.print.whole {
		c.print.stop("", ends)
		return nil
	}
	input := wire.AppendDecoded(nil, quoted(c.args))
	c.args = c.args[:0]
	input = bytes.TrimSpace(input)
	if !isObject(input) || !jsontext.Value(input).IsValid(jsontext.AllowDuplicateNames(true)) {
		if !c.cut {
			return &gateway.Error{Kind: gateway.BadCall, Message: "The model's call of " + gateway.Excerpt(of.name) + " has arguments that are no JSON object."}
		}
		c.print.dst = c.print.dst[:c.print.from] // the client would take it for a call that is whole
		return nil
	}
	c.print.dst = append(c.print.dst, input...)
	c.print.stop("}", nil)
	return nil
}

// writeRan writes the block of a call that the gateway has made: begin is its JSON up to the input.
func (c *content) writeRan(begin, input []byte) error {
	if err := c.close(); err != nil {
		return err
	}
	c.spoke, c.space = true, c.space[:0]
	c.print.start(begin, "{}}", nil)
	if c.print.whole {
		c.print.dst = append(c.print.dst, bytes.TrimSpace(wire.AppendDecoded(nil, quoted(input)))...)
		c.print.stop("}", nil)
		return nil
	}
	c.print.delta(`input_json_delta","partial_json":"`, input, nothing)
	c.print.stop("", nil)
	return nil
}

// end ends the last block. An answer of white space is one too.
func (c *content) end() error {
	if err := c.close(); err != nil {
		return err
	}
	if c.spoke || len(c.space) == 0 || c.print.index > 0 {
		return nil
	}
	c.begin(textBlock, `{"type":"text","text":"`, `"}`)
	c.print.delta(`text_delta","text":"`, c.space, nothing)
	return c.close()
}

// seal is a signature for thoughts of which the upstream gave none: clients drop what has none,
// and send it back with what they got. It never goes to Anthropic, which would refuse the
// request.
func (c *content) seal() []byte {
	return []byte(gateway.Seal(c.id + ":" + strconv.Itoa(c.print.index)))
}
