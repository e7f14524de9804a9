package responses

import (
	"bytes"
	"strconv"

	"github.com/callgate/callgate/gateway/observe"
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

// echo are the members of a response that the request decides, each with a comma in front.
func (r *Request) echo() []byte {
	f := &r.fields
	b := make([]byte, 0, 2048+r.tools.echoSize()+len(f[fInstructions]))
	for _, m := range [...]struct {
		id        field
		otherwise string
	}{
		{fInstructions, "null"}, {fMaxOutput, "null"}, {fMaxToolCalls, "null"}, {fParallel, "true"}, {fPrevious, "null"},
		{fCacheKey, "null"}, {fCacheRetention, "null"}, {fReasoning, `{"effort":null,"summary":null}`}, {fSafetyID, "null"},
		{fTemperature, "1.0"}, {fTopP, "1.0"}, {fTopLogprobs, "0"}, {fToolChoice, `"auto"`}, {fTruncation, `"disabled"`},
		{fBackground, "false"}, {fMetadata, "{}"}, {fUser, "null"},
	} {
		b = append(append(append(b, `,"`...), fieldNames[m.id]...), `":`...)
		if f[m.id] != nil {
			b = appendLine(b, f[m.id])
		} else {
			b = append(b, m.otherwise...)
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
	b = append(b, `,"text":{"format":`...)
	text := object(f[fText])
	if format := text.get("format"); format != nil {
		b = appendLine(b, format)
	} else {
		b = append(b, `{"type":"text"}`...)
	}
	if v := text.get("verbosity"); v != nil {
		b = append(append(b, `,"verbosity":`...), v...)
	}
	b = append(r.tools.appendEcho(append(b, `},"tools":[`...)), ']')
	return append(b, `,"presence_penalty":0.0,"frequency_penalty":0.0`...)
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

// appendResponse appends the response as it is now.
func (w *Writer) appendResponse(b []byte, end ending, completed int64) []byte {
	b = append(append(b, `{"id":"`...), w.req.id...)
	created := w.req.created
	if w.passage.created > 0 {
		created = w.passage.created
	}
	b = strconv.AppendInt(append(b, `","object":"response","created_at":`...), created, 10)
	b = append(append(append(b, `,"status":"`...), end.status...), `","completed_at":`...)
	if completed > 0 {
		b = strconv.AppendInt(b, completed, 10)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"error":`...)
	if end.failure != nil {
		b = append(b, end.failure...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"incomplete_details":`...)
	if end.reason != "" {
		b = append(append(append(b, `{"reason":"`...), end.reason...), `"}`...)
	} else {
		b = append(b, "null"...)
	}
	b = append(append(b, `,"model":`...), w.model...)
	b = append(append(append(b, `,"output":[`...), w.output...), ']')
	b = append(append(b, w.echo...), `,"usage":`...)
	if end.status == inProgress {
		b = append(b, "null"...)
	} else {
		b = w.counts.appendTo(b)
		if w.summary != nil && w.summary.Execution {
			b = append(append(b, `,"execution":`...), observe.Execution(w.summary, !w.quiet)...)
		}
	}
	return append(b, '}')
}
