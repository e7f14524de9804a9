package responses

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

// Own is the member of a delta or of a message that holds what chat completions have no place for, in
// "provider_specific_fields": {"event":…} is an event of an item of another type as it came,
// {"message":…} begins a message, and {"response":{…}} is a whole answer as it came.
const Own = "responses"

// inner is what stands between the quotes of a string, nothing if v is none.
func inner(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return nil
	}
	return v[1 : len(v)-1]
}

// orNull is v, or null.
func orNull(v []byte) []byte {
	if v == nil {
		return []byte("null")
	}
	return v
}

// head is the beginning of a chunk or a completion, up to the choices.
func head(kind string, response []byte, model string) []byte {
	b := append([]byte(`{"id":`), orNull(get(response, "id"))...)
	b = wire.AppendQuoted(append(b, `,"object":`...), kind)
	created := get(response, "created_at")
	if created == nil {
		created = []byte("0")
	}
	b = append(append(b, `,"created":`...), created...)
	b = append(b, `,"model":`...)
	if own := get(response, "model"); own != nil {
		b = append(b, own...)
	} else {
		b = wire.AppendQuoted(b, model)
	}
	if tier := get(response, "service_tier"); tier != nil {
		b = append(append(b, `,"service_tier":`...), tier...)
	}
	return append(b, `,"choices":[`...)
}

// counts is a usage in the form of chat completions. A count that is none stands beside, as it came, since the
// 0 in its place is not to be believed.
func counts(u []byte) []byte {
	var odd []byte
	count := func(name string) int {
		v := get(u, name)
		n, ok := usage.Count(v)
		if !ok && v != nil {
			odd = append(append(append(append(odd, `,"`...), name...), `":`...), v...)
			return 0
		}
		return n
	}
	in, out := count("input_tokens"), count("output_tokens")
	b := strconv.AppendInt([]byte(`{"prompt_tokens":`), int64(in), 10)
	b = strconv.AppendInt(append(b, `,"completion_tokens":`...), int64(out), 10)
	b = strconv.AppendInt(append(b, `,"total_tokens":`...), int64(in+out), 10)
	b = append(b, odd...)
	if d := get(u, "input_tokens_details"); d != nil {
		b = append(append(b, `,"prompt_tokens_details":`...), d...)
	}
	if d := get(u, "output_tokens_details"); d != nil {
		b = append(append(b, `,"completion_tokens_details":`...), d...)
	}
	return append(b, '}')
}

func number(v []byte) int {
	n, err := strconv.Atoi(string(v))
	if err != nil {
		return 0
	}
	return n
}

// finish is the finish reason of a response that is over.
func finish(response []byte, calls int) string {
	if wire.Unquote(get(response, "status")) == "incomplete" {
		if wire.Unquote(get(get(response, "incomplete_details"), "reason")) == "content_filter" {
			return "content_filter"
		}
		return "length"
	}
	if calls > 0 {
		return "tool_calls"
	}
	return "stop"
}

// failure is an error in the form of chat completions: of a response that has failed, or an event.
func failure(v []byte) []byte {
	e := get(v, "error")
	if len(e) == 0 || e[0] != '{' {
		e = v
	}
	message := get(e, "message")
	if message == nil {
		message = []byte(`"The upstream has ended its answer with an error."`)
	}
	kind := get(e, "type")
	if k := wire.Unquote(kind); kind == nil || k == "error" {
		kind = []byte(`"server_error"`)
	}
	b := append(append([]byte(`{"error":{"message":`), message...), `,"type":`...)
	b = append(append(append(b, kind...), `,"param":`...), orNull(get(e, "param"))...)
	return append(append(append(b, `,"code":`...), orNull(get(e, "code"))...), "}}"...)
}

// detail is sealed reasoning as an entry of reasoning_details.
func detail(item []byte, index int) []byte {
	b := append([]byte(`{"type":"reasoning.encrypted","data":`), get(item, "encrypted_content")...)
	if id := get(item, "id"); id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	return append(strconv.AppendInt(append(b, `,"format":"openai-responses-v1","index":`...), int64(index), 10), '}')
}

// nameOf is the name by which chat completions know the tool of a call. OpenAI gives a tool that its
// tool_search has found its own name as the namespace too, so that counts where the request has one of
// that name; spaces are those.
func nameOf(item []byte, spaces []string) []byte {
	name := get(item, "name")
	space, plain := wire.Unquote(get(item, "namespace")), wire.Unquote(name)
	if space != "" && (space != plain || slices.Contains(spaces, space)) {
		return wire.AppendQuoted(nil, gateway.FlatName(space, plain))
	}
	return orNull(name)
}

// namespaces are the names of those among a response's tools.
func namespaces(response []byte) (names []string) {
	tools := get(response, "tools")
	if !bytes.Contains(tools, []byte(`"namespace"`)) {
		return nil
	}
	wire.Elements(tools, 0, func(_ int, at wire.Span) bool {
		if tool := at.Of(tools); wire.Unquote(get(tool, "type")) == "namespace" {
			names = append(names, wire.Unquote(get(tool, "name")))
		}
		return true
	})
	return names
}

// isCall reports whether an item is a call of the client's tools; custom that its input is a text.
func isCall(kind string) (call, custom bool) {
	return kind == "function_call" || kind == "custom_tool_call", kind == "custom_tool_call"
}

// oneLine is JSON without line ends, which stand between values alone.
func oneLine(v []byte) []byte {
	if bytes.ContainsAny(v, "\r\n") {
		return bytes.Map(func(r rune) rune {
			if r == '\n' || r == '\r' {
				return ' '
			}
			return r
		}, v)
	}
	return v
}
