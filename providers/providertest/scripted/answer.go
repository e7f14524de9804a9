package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// usage is the same for every answer.
const usage = `{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}`

// style is where a vendor's answers differ from OpenAI's.
type style struct {
	// index is the index that the ith of parallel calls of a stream gets.
	index func(i int) int
	// arguments is what becomes of a call's arguments.
	arguments func(string) string
	// choice is added to every choice and answer to every whole answer: members in
	// JSON, each behind its comma.
	choice, answer string
	// first is a chunk in front of the stream; empty if there is none.
	first string
}

// openAIStyle is OpenAI's own.
func openAIStyle() style {
	return style{index: func(i int) int { return i }, arguments: func(s string) string { return s }}
}

// write answers as the request asks.
func (s style) write(w http.ResponseWriter, req *chatRequest, t turn) {
	if req.Stream {
		writeEvents(w, s.stream(req, t))
		return
	}
	writeJSON(w, http.StatusOK, s.whole(req, t))
}

// whole is the answer in one piece.
func (s style) whole(req *chatRequest, t turn) string {
	message := map[string]any{"role": "assistant", "content": nil}
	if t.text != "" {
		message["content"] = t.text
	}
	var calls []wireCall
	for _, c := range t.calls {
		calls = append(calls, newCall(nil, c.id, c.name, s.arguments(c.arguments)))
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return fmt.Sprintf(`{"id":"chatcmpl-scripted","object":"chat.completion","created":1700000000,"model":%s,`+
		`"choices":[{"index":0,"message":%s,"logprobs":null,"finish_reason":%q%s}],"usage":%s%s}`,
		mustJSON(req.Model), mustJSON(message), t.finish(), s.choice, usage, s.answer)
}

// stream is the answer block by block.
func (s style) stream(req *chatRequest, t turn) []string {
	chunk := func(choices, usage string) string {
		return fmt.Sprintf(`data: {"id":"chatcmpl-scripted","object":"chat.completion.chunk","created":1700000000,"model":%s,`+
			`"choices":[%s]%s}`+"\n\n", mustJSON(req.Model), choices, usage)
	}
	choice := func(delta any, finish string) string {
		return chunk(fmt.Sprintf(`{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s%s}`, mustJSON(delta), finish, s.choice), "")
	}
	var blocks []string
	if s.first != "" {
		blocks = append(blocks, "data: "+s.first+"\n\n")
	}
	blocks = append(blocks, choice(map[string]any{"role": "assistant", "content": nil}, "null"))
	for _, piece := range pieces(t.text) {
		blocks = append(blocks, choice(map[string]any{"content": piece}, "null"))
	}
	for i, c := range t.calls {
		index := s.index(i)
		call := func(w wireCall) string {
			return choice(map[string]any{"tool_calls": []wireCall{w}}, "null")
		}
		blocks = append(blocks, call(newCall(&index, c.id, c.name, "")))
		for _, piece := range pieces(s.arguments(c.arguments)) {
			blocks = append(blocks, call(newCall(&index, "", "", piece)))
		}
	}
	blocks = append(blocks, choice(map[string]any{}, mustJSON(t.finish())))
	if req.StreamOptions != nil && req.StreamOptions.IncludeUsage {
		blocks = append(blocks, chunk("", `,"usage":`+usage))
	}
	return append(blocks, "data: [DONE]\n\n")
}

func (t turn) finish() string {
	if len(t.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// pieces cuts a text as a model's tokens do, after every fourth character.
func pieces(text string) []string {
	var all []string
	var b strings.Builder
	n := 0
	for _, r := range text {
		b.WriteRune(r)
		if n++; n%4 == 0 {
			all = append(all, b.String())
			b.Reset()
		}
	}
	if b.Len() > 0 {
		all = append(all, b.String())
	}
	return all
}

// mustJSON is the JSON of a value of this package's own.
func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
