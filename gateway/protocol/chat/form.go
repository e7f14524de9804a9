package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
)

// Form is how chat completions say errors.
var Form = NewForm("chat")

// NewForm is the form of another endpoint whose errors are OpenAI's.
func NewForm(name string) *protocol.Form {
	return &protocol.Form{Name: name, Ping: ": ping\n\n", OpenAI: true, Error: errorBody, Fail: func(dst []byte, e *gateway.Error, _ string) []byte { return appendFailure(dst, e) }}
}

// envelope is OpenAI's error body. All four keys are always there.
type envelope struct {
	Error failure `json:"error"`
}

type failure struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// errorBody is an error in OpenAI's form.
func errorBody(e *gateway.Error, _ string, _ http.Header) []byte {
	body := failure{Message: e.Message, Type: e.Type()}
	if e.Param != "" {
		body.Param = &e.Param
	}
	if code := e.CodeOrDefault(); code != "" {
		body.Code = &code
	}
	data, _ := json.Marshal(envelope{body}) // strings cannot fail
	return data
}

// appendFailure appends an error that ends a stream. The upstream's own refusal goes on as it is.
func appendFailure(dst []byte, e *gateway.Error) []byte {
	var refusal struct {
		Error json.RawMessage `json:"error"`
	}
	var compact bytes.Buffer
	data := errorBody(e, "", nil)
	if e.Body != nil && json.Unmarshal(e.Body, &refusal) == nil && len(refusal.Error) > 0 && json.Compact(&compact, e.Body) == nil {
		data = compact.Bytes()
	}
	return append(append(append(dst, "data: "...), data...), "\n\n"...)
}

// request is a chat completion, which needs no translation.
type request struct {
	body   []byte
	events bool // the client wants to know what the gateway's own tools do
}

// eventsHeader is what a client sets to 1 to see what the gateway's own tools do, as chunks without
// choices and as a member of a whole answer.
const eventsHeader = "X-Callgate-Tool-Events"

// Parse implements [protocol.Parser].
func Parse(_ context.Context, body []byte, c protocol.Client) (protocol.Front, error) {
	events := c.Header.Get(eventsHeader)
	if events != "" && events != "0" && events != "1" {
		return nil, &gateway.Error{Kind: gateway.Invalid, Param: "x-callgate-tool-events",
			Message: "The header x-callgate-tool-events must be 1 or 0, not " + gateway.ExcerptOf(strconv.Quote(events), 40) + "."}
	}
	return request{body, events == "1"}, nil
}

func (r request) Chat() []byte            { return r.body }
func (r request) Source() *gateway.Source { return nil }
func (r request) Warnings() []string      { return nil }
func (r request) Writer(resp *gateway.Response) protocol.Writer {
	w := NewWriter(resp)
	w.events = r.events
	return w
}
