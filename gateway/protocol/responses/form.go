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

// unnamed is the code of an upstream's error that has none.
const unnamed = "upstream_error"

// upstreamFailure is the error that an upstream sends in the place of a chunk.
func upstreamFailure(data []byte) []byte {
	const unknown = "The upstream has ended its answer with an error."
	own := object(data).get("error")
	if !isObject(own) {
		return failureOf(textOr(own, unknown), "server_error", "", unnamed)
	}
	o := object(own)
	return failureOf(textOr(o.get("message"), unknown), textOr(o.get("type"), "server_error"), wire.Unquote(o.get("param")), textOr(o.get("code"), unnamed))
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

// responseCodes are the codes that the error of a response may have. OpenAI's types say so, and clients that check what they
// get by them cannot read any other. context_length_exceeded is not among those, but OpenAI sends it, and agents
// shorten the conversation then.
var responseCodes = func() map[string]bool {
	codes := map[string]bool{}
	for _, code := range [...]string{
		"server_error", "rate_limit_exceeded", "invalid_prompt", "data_residency_mismatch", "bio_policy", "misalignment_policy_violation", "vector_store_timeout",
		"invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small", "image_parse_error",
		"image_content_policy_violation", "invalid_image_mode", "image_file_too_large", "unsupported_image_media_type", "empty_image_file",
		"failed_to_download_image", "image_file_not_found", gateway.CodeOverflow,
	} {
		codes[code] = true
	}
	return codes
}()

// responseError is an error as a response that has failed names it. A code that is none of a response's is another
// member then, unless it is own: of an upstream's response.
func responseError(failure []byte, own bool) []byte {
	o := object(failure)
	code := wire.Unquote(o.get("code"))
	said := code
	if !responseCodes[code] && (!own || code == "" || code == unnamed) {
		switch wire.Unquote(o.get("type")) {
		case "invalid_request_error":
			said = "invalid_prompt"
		case "rate_limit_error", "requests", "tokens", "insufficient_quota":
			said = "rate_limit_exceeded"
		default:
			said = "server_error"
		}
	}
	b := wire.AppendQuoted([]byte(`{"code":`), said)
	b = append(append(b, `,"message":`...), o.get("message")...)
	if code != "" && code != said {
		b = append(wire.AppendQuoted(append(b, `,"callgate":{"code":`...), code), '}')
	}
	return append(b, '}')
}
