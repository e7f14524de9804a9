package responses

import (
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/wire"
)

// Name is the protocol's.
const Name = "responses"

// Form is how Responses say errors.
var Form = &protocol.Form{
	Name: Name, Ping: ": ping\n\n",
	Error: func(e *gateway.Error, _ string, _ http.Header) []byte {
		return append(append([]byte(`{"error":`), failure(e)...), '}')
	},
	Fail: func(dst []byte, e *gateway.Error, _ string) []byte { return appendError(dst, failure(e), 0) },
}

// failure is an error as the object that stands in "error": the upstream's own where it has
// refused the request in OpenAI's form.
func failure(e *gateway.Error) []byte {
	if own := object(e.Body).get("error"); isObject(own) && wire.IsObject(e.Body) {
		if message := wire.Unquote(object(own).get("message")); message != "" {
			return failureOf(message, textOr(object(own).get("type"), e.Type()), ownFields.Place(wire.Unquote(object(own).get("param"))), textOr(object(own).get("code"), e.CodeOrDefault()))
		}
	}
	return failureOf(ownFields.Message(e), e.Type(), ownFields.Place(e.Param), e.CodeOrDefault())
}

// ownFields are the fields of a request for a response that have another name in its chat completion.
var ownFields = protocol.Fields{
	"messages": "input", "stream_options": "stream", "max_completion_tokens": "max_output_tokens", "max_tokens": "max_output_tokens",
	"reasoning_effort": "reasoning.effort", "response_format": "text.format", "verbosity": "text.verbosity", "logprobs": "include",
	"tool_choice.function": "tool_choice", "tool_choice.function.name": "tool_choice.name",
}

// upstreamFailure is the error that an upstream sends in the place of a chunk.
func upstreamFailure(data []byte) []byte {
	const unknown = "The upstream has ended its answer with an error."
	own := object(data).get("error")
	if !isObject(own) {
		return failureOf(textOr(own, unknown), "server_error", "", "upstream_error")
	}
	o := object(own)
	return failureOf(textOr(o.get("message"), unknown), textOr(o.get("type"), "server_error"), wire.Unquote(o.get("param")), textOr(o.get("code"), "upstream_error"))
}

// textOr is a JSON string's text, or something else where there is none.
func textOr(v []byte, otherwise string) string {
	if text := wire.Unquote(v); text != "" {
		return text
	}
	return otherwise
}

func failureOf(message, kind, param, code string) []byte {
	b := wire.AppendQuoted([]byte(`{"message":`), message)
	b = wire.AppendQuoted(append(b, `,"type":`...), kind)
	b = appendOrNull(append(b, `,"param":`...), param)
	return append(appendOrNull(append(b, `,"code":`...), code), '}')
}

func appendOrNull(b []byte, text string) []byte {
	if text == "" {
		return append(b, "null"...)
	}
	return wire.AppendQuoted(b, text)
}

// appendError appends the event of an error without a response: flat, as OpenAI has it, and as
// an object, which its SDKs look for.
func appendError(dst, failure []byte, number int) []byte {
	e := events{out: dst, number: number}
	o := object(failure)
	e.raw("error", []byte(`,"code":`), orNull(o.get("code")), []byte(`,"message":`), o.get("message"), []byte(`,"param":`), orNull(o.get("param")),
		[]byte(`,"error":`), failure)
	return e.out
}

func orNull(v []byte) []byte {
	if v == nil {
		return []byte("null")
	}
	return v
}

// responseError is an error as a response that has failed names it.
func responseError(failure []byte) []byte {
	o := object(failure)
	code := wire.Unquote(o.get("code"))
	switch code {
	case "":
		code = "server_error"
	case "upstream_rate_limited":
		code = "rate_limit_exceeded"
	}
	b := wire.AppendQuoted([]byte(`{"code":`), code)
	return append(append(append(b, `,"message":`...), o.get("message")...), '}')
}
