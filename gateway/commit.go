package gateway

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

const (
	// maxAhead is how many bytes of an answer wait for the first useful one among them.
	maxAhead = 256 << 10
	// maxWithheld is how many wait for the guard. A token takes some two hundred, and
	// models think for some ten thousand.
	maxWithheld = 8 << 20
	// maxWithheldAll is how many bytes of all answers do.
	maxWithheldAll = 512 << 20
)

// commit reads the answer up to its first useful byte: text, reasoning, a call or
// whatever else a client would act on. Until then the client has seen nothing, and
// each failure is an error that lets another attempt follow: an answer with nothing
// in it, or an error in the place of a chunk, is one too. So is one that the guard has
// held back to its end, and found to lack a call.
func (r *Response) commit() error {
	r.seen = &glimpse{}
	defer func() {
		r.seen = nil
		r.gateway.withheld.Add(-r.withheld)
	}()
	withheld := false // by the guard
	for {
		b, err := r.advance()
		if err != nil && err != io.EOF {
			return err
		}
		whole := len(b) > 0 && !r.Streamed
		over := whole || r.isOver(err)
		held := !over && r.holdsBack()
		withheld = withheld || held
		switch {
		case held:
		case r.seen.useful && (len(b) > 0 || withheld), len(r.ahead) > maxAhead:
			return r.settleHeld(over, withheld)
		case err == io.EOF || whole:
			return r.empty()
		}
	}
}

// isOver reports whether nothing of the answer is to come, after a piece or an error.
func (r *Response) isOver(err error) bool { return err == io.EOF || r.ended == io.EOF || r.finished }

// settleHeld ends the wait: the answer goes out, or it is over and lacks something. In the
// place of a call that was demanded nothing else is let through.
func (r *Response) settleHeld(over, withheld bool) error {
	r.Summary.FirstToken, r.first = time.Since(r.requested), time.Since(r.began)
	if over || withheld && r.of.forced != nil {
		return r.unfit()
	}
	return nil
}

// advance reads the next bytes of the answer. The error is io.EOF at its end, and otherwise
// why the attempt has failed.
func (r *Response) advance() ([]byte, error) {
	b, _, err := r.next()
	if r.failure != nil {
		err = r.inBand()
	}
	if err != nil && err != io.EOF {
		return nil, r.refusedTools(err)
	}
	if r.ahead == nil && !r.Streamed {
		r.ahead = b // valid until the next call, which nobody makes before it is out
	} else {
		r.ahead = append(r.ahead, b...)
	}
	if e := r.malformed(); e != nil {
		return nil, e
	}
	return b, err
}

// holdsBack reports whether the guard keeps the answer so far from the client.
func (r *Response) holdsBack() bool {
	if !r.seen.useful || !r.undecided() {
		return false
	}
	if r.hold() {
		return true
	}
	r.Summary.Warn("guard_gave_up")
	return false
}

// hold takes room for what of an answer waits for the guard. It reports false if there is
// none.
func (r *Response) hold() bool {
	more := int64(len(r.ahead)) - r.withheld
	r.withheld += more
	return r.gateway.withheld.Add(more) <= maxWithheldAll && r.withheld <= maxWithheld
}

// malformed is the failure of an answer whose call the upstream itself calls
// malformed, as Gemini does.
func (r *Response) malformed() error {
	if seen := r.seen; !isMalformed(seen.finish) || seen.useful && r.Streamed || r.target.Mode != Repair {
		return nil
	}
	r.fault(repair.VendorMalformed)
	return &Error{Kind: Unusable, Code: "invalid_tool_call",
		Message: fmt.Sprintf("Provider %q: the model's tool call was malformed (finish_reason %.40q).", r.upstream.name, r.seen.finish)}
}

// isMalformed reads finish reasons such as Gemini's MALFORMED_FUNCTION_CALL.
func isMalformed(finish string) bool {
	f := strings.ToLower(finish)
	return strings.HasPrefix(f, "malformed") && strings.HasSuffix(f, "call")
}

// empty decides about an answer that ended with nothing in it. One that a token
// limit, a filter or a stop sequence of the client has ended is what was asked for.
func (r *Response) empty() error {
	seen := r.seen
	ended := seen.finish == "" || seen.finish == "stop" || seen.finish == "tool_calls" || seen.finish == "function_call"
	if !seen.choices && !r.Streamed || !ended || r.target.AllowEmpty || r.req.stops {
		return nil
	}
	return &Error{Kind: Unusable, Message: fmt.Sprintf("Provider %q: the model's answer is empty.", r.upstream.name)}
}

// glimpse is what the beginning of an answer holds.
type glimpse struct {
	useful  bool
	choices bool   // it has any
	finish  string // the last finish reason
}

// chunk reads a chunk, or a whole completion.
func (g *glimpse) chunk(data []byte, streamed bool) {
	var k chunk
	if !locate(&k, data, bodyKey(streamed)) {
		g.useful = g.useful || !isObject(data)
		return
	}
	for i := range k.parts {
		p := &k.parts[i]
		g.choices = true
		if reason := p.reason(data); reason != "" {
			g.finish = reason
		}
		wire.Members(data, p.body.Start, func(key []byte, v wire.Span) bool {
			g.useful = g.useful || says(string(key), v.Of(data))
			return true
		})
	}
}

// isObject says whether data is an object. What is none is not for us to judge.
func isObject(data []byte) bool { return len(data) > 0 && data[0] == '{' }

// says reports whether a member of a delta or message says anything.
func says(key string, value []byte) bool {
	if key == "role" || len(value) < 2 {
		return false
	}
	switch value[0] {
	case '"':
		blank := bytes.Trim(value[1:len(value)-1], " \t")
		for len(blank) > 1 && blank[0] == '\\' && bytes.IndexByte([]byte("nrt"), blank[1]) >= 0 {
			blank = bytes.TrimLeft(blank[2:], " \t")
		}
		return len(blank) > 0
	case '[', '{':
		return !wire.Blank(value[1 : len(value)-1])
	}
	return string(value) == "true"
}

// inBand is the error of an upstream that sends one in the place of a chunk, as a
// failure of the attempt.
func (r *Response) inBand() *Error {
	if p, ok := r.upstream.provider.(Failer); ok {
		return p.Failure(r.Header, r.failure)
	}
	redact := func(s string) string { return string(r.redact([]byte(s))) }
	return UpstreamFailure{Provider: r.upstream.name, Header: r.Header, Body: r.failure, Redact: redact}.Classify()
}

// redact takes the provider's secrets out of what its upstream says of a failure.
func (r *Response) redact(b []byte) []byte {
	if p, ok := r.upstream.provider.(Redactor); ok {
		return []byte(p.Redact(string(b)))
	}
	return b
}
