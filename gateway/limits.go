package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// Limits bound what a request may be made of, beside its bytes. Zero means the default. The
// names of the settings stand in the errors.
type Limits struct {
	// Values is how many values the body may have: members, elements, objects and lists.
	// Default 200,000.
	Values int
	// Messages is how many messages there may be, and Calls how many calls in all of them.
	// Default 10,000 each.
	Messages, Calls int
	// Tools is how many tools a request may offer, and ToolBytes how large their list may be.
	// Default 1024, and 4 MiB.
	Tools, ToolBytes int
	// ToolDepth is how deep a tool may nest, the tool itself counted as 1, and Properties is how
	// many properties and definitions the schemas of all tools may have. Default 64, and 10,000.
	ToolDepth, Properties int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Values: cmp.Or(l.Values, 200_000), Messages: cmp.Or(l.Messages, 10_000), Calls: cmp.Or(l.Calls, 10_000),
		Tools: cmp.Or(l.Tools, 1024), ToolBytes: cmp.Or(l.ToolBytes, 4<<20),
		ToolDepth: cmp.Or(l.ToolDepth, 64), Properties: cmp.Or(l.Properties, 10_000),
	}
}

// checkParts refuses a request of too many parts. values are those of its body: where there are
// fewer of them than of anything that is bounded, nothing has to be counted.
func (l Limits) checkParts(b *Body, values int) error {
	if values > min(l.Messages, l.Calls) {
		if err := l.checkMessages(b); err != nil {
			return err
		}
	}
	list := b.places.Tools
	if list.IsNull(b.text) {
		return nil
	}
	if n := list.End - list.Start; n > l.ToolBytes {
		return &Error{Kind: TooLarge, Param: "tools",
			Message: fmt.Sprintf("The field \"tools\" has %d bytes; at most %d are taken (limits.tools.size).", n, l.ToolBytes)}
	}
	if values <= min(l.Tools, l.ToolDepth, l.Properties) {
		return nil
	}
	return l.checkTools(b.text, list)
}

func (l Limits) checkMessages(b *Body) error {
	list := b.places.Messages
	if list.IsNull(b.text) {
		return nil
	}
	messages, calls := 0, 0
	wire.Elements(b.text, list.Start, func(_ int, m wire.Span) bool {
		messages++
		if b.text[m.Start] == '{' {
			if at := wire.Find(b.text, m, "tool_calls"); !at.IsNull(b.text) {
				wire.Elements(b.text, at.Start, func(int, wire.Span) bool { calls++; return true })
			}
		}
		return true
	})
	if messages > l.Messages {
		return invalid("messages", fmt.Sprintf("The field \"messages\" has %d messages; at most %d are taken (limits.messages).", messages, l.Messages))
	}
	if calls > l.Calls {
		return invalid("messages", fmt.Sprintf("The field \"messages\" has %d calls of tools; at most %d are taken (limits.calls).", calls, l.Calls))
	}
	return nil
}

func (l Limits) checkTools(body []byte, list wire.Span) error {
	count, properties := 0, 0
	var err error
	wire.Elements(body, list.Start, func(i int, tool wire.Span) bool {
		count++
		m := wire.Measure(tool.Of(body), l.ToolDepth)
		if m.TooDeep >= 0 {
			param := fmt.Sprintf("tools[%d]", i)
			err = invalid(param, fmt.Sprintf("The tool %s nests deeper than %d levels (limits.tools.depth).", param, l.ToolDepth))
			return false
		}
		properties += countProperties(tool.Of(body))
		return true
	})
	switch {
	case err != nil:
		return err
	case count > l.Tools:
		return invalid("tools", fmt.Sprintf("The field \"tools\" has %d tools; at most %d are taken (limits.tools.count).", count, l.Tools))
	case properties > l.Properties:
		return invalid("tools", fmt.Sprintf("The schemas in the field \"tools\" have %d properties; at most %d are taken (limits.tools.properties).", properties, l.Properties))
	}
	return nil
}

// countProperties counts the members of a schema's properties and definitions, wherever they
// stand.
func countProperties(value []byte) (n int) {
	if len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return 0
	}
	if value[0] == '[' {
		wire.Elements(value, 0, func(_ int, v wire.Span) bool {
			n += countProperties(v.Of(value))
			return true
		})
		return n
	}
	wire.Members(value, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "properties", "$defs", "definitions", "patternProperties":
			wire.Members(value, v.Start, func([]byte, wire.Span) bool { n++; return true })
		}
		n += countProperties(v.Of(value))
		return true
	})
	return n
}

// valueCost is how many bytes are claimed for each value of a body, besides its bytes.
const valueCost = 128

// noRoom is the error of a request for which there is no memory.
func noRoom(err error) error {
	if err == nil {
		return nil
	}
	return NoRoom(err, "The request needs more memory than one may have (limits.memory): send less, or have the limit raised.")
}

// retryRoom is after how long a client should ask again where the memory is spent: answers end
// all the time.
const retryRoom = time.Second

// NoRoom is the error for what an [inflight.Claim] has refused: MemorySpent, or TooLarge with a
// text for what no waiting makes fit.
func NoRoom(err error, tooLarge string) *Error {
	if errors.Is(err, inflight.ErrShare) {
		return &Error{Kind: TooLarge, Message: tooLarge, Err: err}
	}
	return &Error{Kind: MemorySpent, RetryAfter: retryRoom, Err: err,
		Message: "The requests in progress have taken the memory that there is for them (limits.memory). Try again in a moment."}
}
