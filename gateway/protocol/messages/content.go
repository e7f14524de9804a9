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
	apart     bool   // unless the upstream has made it one
	beside    []byte // members that its block has besides the text
	signature []byte
	args      []byte // of a call in a whole message
	citations []byte
	spoke     bool // there is a block that says something
}

// write writes an item. No call is open.
func (c *content) write(it item) error {
	switch it.kind {
	case textBlock:
		return c.writeText(it.text)
	case thinkingBlock:
		return c.writeThought(it)
	case callBlock:
		return c.openCall(it.call)
	case opaqueBlock:
		return c.writeOpaque(it.text)
	case ranBlock:
		return c.writeRan(it.text, it.sign)
	case breakBlock:
		c.apart = true
		c.beside = append(c.beside[:0], it.text...)
		return c.close()
	case citation:
		return c.cite(it.text)
	}
	return nil
}

func (c *content) writeText(in []byte) error {
	if c.open != textBlock {
		if blank(in) && !c.apart {
			c.space = append(c.space, in...)
			return nil
		}
		if err := c.beginText(); err != nil {
			return err
		}
	}
	c.print.delta(`text_delta","text":"`, in)
	return nil
}

// beginText opens a block of text, with the white space that has waited for one.
func (c *content) beginText() error {
	if err := c.close(); err != nil {
		return err
	}
	begin := `{"type":"text","text":"`
	if len(c.beside) > 0 {
		begin = `{"type":"text",` + string(c.beside) + `,"text":"`
	}
	c.begin(textBlock, begin, `"}`)
	if len(c.space) > 0 {
		c.print.delta(`text_delta","text":"`, c.space)
		c.space = c.space[:0]
	}
	return nil
}

func (c *content) writeThought(it item) error {
	if c.open != thinkingBlock {
		if err := c.close(); err != nil {
			return err
		}
		c.begin(thinkingBlock, `{"type":"thinking","thinking":"`, `","signature":""}`)
	}
	if !c.sealed && len(it.text) > 0 {
		c.print.delta(`thinking_delta","thinking":"`, it.text)
	}
	if it.sign == nil {
		return nil
	}
	c.signature = append(c.signature[:0], it.sign...)
	return c.close()
}

func (c *content) writeOpaque(v value) error {
	if err := c.close(); err != nil {
		return err
	}
	c.spoke = true
	c.print.object(v)
	return nil
}

// cite adds a citation to the text that is open. It may come in front of the text.
func (c *content) cite(v value) error {
	if c.open != textBlock {
		if err := c.beginText(); err != nil {
			return err
		}
	}
	if !c.print.whole {
		c.print.citation(v)
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
	c.open, c.apart, c.beside = k, false, c.beside[:0]
	c.spoke = c.spoke || k != thinkingBlock
	c.print.start([]byte(begin), rest)
}

// close ends the open block, if there is one.
func (c *content) close() error {
	k := c.open
	c.open = noBlock
	switch k {
	case callBlock:
		return c.closeCall()
	case thinkingBlock:
		if len(c.signature) == 0 {
			c.signature = append(c.signature, c.seal()...)
		}
		if c.print.whole {
			c.print.dst = append(append(c.print.dst, `","signature":"`...), c.signature...)
		} else {
			c.print.delta(`signature_delta","signature":"`, c.signature)
		}
		c.signature = c.signature[:0]
		c.print.stop(`"}`)
	case textBlock:
		if len(c.citations) > 0 {
			c.print.dst = append(append(c.print.dst, `","citations":[`...), c.citations...)
			c.citations = c.citations[:0]
			c.print.stop("]}")
		} else {
			c.print.stop(`"}`)
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
	c.begin(callBlock, string(append(begin, `,"input":`...)), "{}}")
	args := of.args
	of.args = nil
	c.writeArguments(of, args)
	return nil
}

func (c *content) writeArguments(of *call, in []byte) {
	if len(in) == 0 || !of.fed && blank(in) {
		return
	}
	of.fed = true
	of.progress.feed(in)
	if c.print.whole {
		c.args = append(c.args, in...)
		return
	}
	c.print.delta(`input_json_delta","partial_json":"`, in)
}

// closeCall ends the block of a call.
func (c *content) closeCall() error {
	of := c.call
	of.ended, c.call = true, nil
	if !of.fed && !c.cut {
		c.writeArguments(of, []byte("{}"))
	}
	if !c.print.whole {
		c.print.stop("")
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
	c.print.stop("}")
	return nil
}

// writeRan writes the block of a call that the gateway has made: begin is its JSON up to the input.
func (c *content) writeRan(begin, input []byte) error {
	if err := c.close(); err != nil {
		return err
	}
	c.spoke, c.space = true, c.space[:0]
	c.print.start(begin, "{}}")
	if c.print.whole {
		c.print.dst = append(c.print.dst, bytes.TrimSpace(wire.AppendDecoded(nil, quoted(input)))...)
		c.print.stop("}")
		return nil
	}
	c.print.delta(`input_json_delta","partial_json":"`, input)
	c.print.stop("")
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
	c.print.delta(`text_delta","text":"`, c.space)
	return c.close()
}

// seal is a signature for thoughts of which the upstream gave none: clients drop what has none,
// and send it back with what they got. It never goes to Anthropic, which would refuse the
// request.
func (c *content) seal() []byte {
	return []byte(gateway.Seal(c.id + ":" + strconv.Itoa(c.print.index)))
}
