package responses

import (
	"bytes"
	"strconv"

	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

// Item is an item of a response's output.
type Item struct {
	ID, Type string
	// JSON is the item as it is to be stored: with the sealed thoughts of a provider, which the
	// client sees only where it has asked for them.
	JSON []byte
}

// Result is a response that is over.
type Result struct {
	ID     string
	Status string // "completed", "incomplete", "failed"
	// Response is the response as the client gets it.
	Response []byte
	Items    []Item
}

// ending is how a response ends.
type ending struct {
	status  string
	reason  string // of an incomplete one
	failure []byte // the value of "error"
}

// echoes are the members of a response that are those of the request, with what they are where it has none.
var echoes = func() (list []echo) {
	for _, m := range [...]struct {
		id        field
		otherwise string
	}{
		{fInstructions, "null"}, {fMaxOutput, "null"}, {fMaxToolCalls, "null"}, {fParallel, "true"}, {fPrevious, "null"},
		{fCacheKey, "null"}, {fCacheRetention, "null"}, {fSafetyID, "null"},
		{fTemperature, "1.0"}, {fTopP, "1.0"}, {fTopLogprobs, "0"}, {fToolChoice, `"auto"`}, {fTruncation, `"disabled"`},
		{fBackground, "false"}, {fMetadata, "{}"}, {fUser, "null"}, {fPresence, "0.0"}, {fFrequency, "0.0"},
	} {
		key := `,"` + fieldNames[m.id] + `":`
		list = append(list, echo{m.id, key, key + m.otherwise})
	}
	return list
}()

// echo is one of them: its name with a comma in front, and the same with the value for none.
type echo struct {
	id        field
	key, none string
}

// appendEcho appends the members of a response that the request decides, each with a comma in front.
// They may be megabytes, and nobody keeps them: a stream has them three times, one after the other.
func (r *Request) appendEcho(b []byte) []byte {
	f := &r.fields
	for i := range echoes {
		if m := &echoes[i]; f[m.id] != nil {
			b = appendLine(append(b, m.key...), f[m.id])
		} else {
			b = append(b, m.none...)
		}
	}
	tier := f[fServiceTier]
	if tier == nil || string(tier) == `"auto"` {
		tier = []byte(`"default"`)
	}
	b = append(append(b, `,"service_tier":`...), tier...)
	b = strconv.AppendBool(append(b, `,"store":`...), r.Stored)
	if id := r.Conversation(); id != "" {
		b = append(wire.AppendQuoted(append(b, `,"conversation":{"id":`...), id), '}')
	}
	b = appendWhole(append(b, `,"reasoning":`...), f[fReasoning], [2]string{"effort", "null"}, [2]string{"summary", "null"})
	b = append(b, `,"text":{"format":`...)
	text := object(f[fText])
	switch format := object(text.get("format")); {
	case format == nil:
		b = append(b, `{"type":"text"}`...)
	case wire.Unquote(format.get("type")) == "json_schema":
		b = appendWhole(b, format, [2]string{"description", "null"}, [2]string{"strict", "false"})
	default:
		b = appendLine(b, format)
	}
	if v := text.get("verbosity"); v != nil {
		b = append(append(b, `,"verbosity":`...), v...)
	}
	return append(r.tools.appendEcho(append(b, `},"tools":[`...)), ']')
}

// appendWhole appends an object of the request with the members that one has in a response, also where the request does
// not name them: their names, and what they are then.
func appendWhole(b, given []byte, members ...[2]string) []byte {
	if !isObject(given) {
		given = []byte("{}")
	}
	b = appendLine(b, given)
	b = bytes.TrimRight(b[:len(b)-1], " \t")
	for _, m := range members {
		if !wire.Find(given, wire.Span{End: len(given)}, m[0]).Empty() {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(append(append(b, '"'), m[0]...), `":`...), m[1]...)
	}
	return append(b, '}')
}

// appendLine appends JSON on one line: between its values there may be line ends.
func appendLine(b, json []byte) []byte {
	from := len(b)
	b = append(b, json...)
	if bytes.IndexByte(json, '\n') >= 0 || bytes.IndexByte(json, '\r') >= 0 {
		for i := from; i < len(b); i++ {
			if b[i] == '\n' || b[i] == '\r' {
				b[i] = ' '
			}
		}
	}
	return b
}

// counts are the tokens of an answer.
type counts struct {
	usage.Usage
	reasoning int
}

// readCounts reads a usage object.
func readCounts(raw []byte) counts {
	c := counts{Usage: usage.Read(raw)}
	for _, name := range [...]string{"completion_tokens_details", "output_tokens_details"} {
		if details := object(raw).get(name); isObject(details) {
			if n, err := strconv.Atoi(string(object(details).get("reasoning_tokens"))); err == nil {
				c.reasoning = max(0, min(n, c.Output))
			}
		}
	}
	return c
}

// appendTo appends the counts as a response has them.
func (c *counts) appendTo(b []byte) []byte {
	if !c.Reported {
		return append(b, "null"...)
	}
	for _, m := range [...]struct {
		text string
		n    int
	}{
		{`{"input_tokens":`, c.Input}, {`,"input_tokens_details":{"cached_tokens":`, c.CacheRead}, {`,"cache_write_tokens":`, c.WriteShort + c.WriteLong},
		{`},"output_tokens":`, c.Output}, {`,"output_tokens_details":{"reasoning_tokens":`, c.reasoning}, {`},"total_tokens":`, c.Input + c.Output},
	} {
		b = strconv.AppendInt(append(b, m.text...), int64(m.n), 10)
	}
	return append(b, '}')
}
