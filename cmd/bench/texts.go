package main

import (
	"encoding/json"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// parserName is the parser that is measured, and trigger what its regions begin
// with: the format that most open models write.
const (
	parserName = "hermes"
	trigger    = "<tool_call>"
)

// tools are those that the requests offer, as a parser sees them.
func tools() []abi.Tool {
	return []abi.Tool{
		{Name: "write_file", Params: []abi.Param{{Name: "path", Types: abi.String, Required: true}, {Name: "content", Types: abi.String, Required: true}}},
		{Name: "get_weather", Params: []abi.Param{{Name: "city", Types: abi.String, Required: true}, {Name: "days", Types: abi.Integer}}},
	}
}

// The parts of a call whose last argument is long.
const (
	callHead = trigger + "\n" + `{"name": "write_file", "arguments": {"path": "cmd/hello/main.go", "content": "`
	callTail = `"}}` + "\n</tool_call>"
)

// source is what the long argument holds: code, as in most long arguments.
const source = "// add returns the sum of \"a\" and \"b\".\nfunc add(a, b int) int {\n\treturn a + b // fits <int>\n}\n\n"

// escaped is n bytes of source as a JSON string holds it, without its quotes.
func escaped(n int) string {
	quoted, _ := json.Marshal(source) // a string cannot fail
	line := string(quoted[1 : len(quoted)-1])
	s := strings.Repeat(line, n/len(line))
	return s + strings.Repeat("x", n-len(s))
}

// longCall is a call of size bytes.
func longCall(size int) string {
	return callHead + escaped(size-len(callHead)-len(callTail)) + callTail
}

// longArguments is the arguments of such a call, size bytes of them.
func longArguments(size int) string {
	const head, tail = `{"path": "cmd/hello/main.go", "content": "`, `"}`
	return head + escaped(size-len(head)-len(tail)) + tail
}

// prose is n bytes of an answer without a tool call.
func prose(n int) string {
	const paragraph = "A gateway stands between an app and the models that it uses. It reads what comes back " +
		"(a stream, most of the time), and where x < y or a list such as [1, 2, 3] is written it has to look twice: " +
		"a model's call may begin with the same sign. Most of the text is plain, though, and it should cost next to " +
		"nothing; a reader sees 100 words a minute, the machine 100 million.\n\n"
	return strings.Repeat(paragraph, n/len(paragraph)+1)[:n]
}

// deltas cuts text as a model streams it: about size bytes each, before a space
// where there is one, as tokens begin with theirs.
func deltas(text string, size int) [][]byte {
	var pieces [][]byte
	for len(text) > size {
		n := size
		if i := strings.LastIndexByte(text[:size+1], ' '); i > 0 {
			n = i
		}
		pieces = append(pieces, []byte(text[:n]))
		text = text[n:]
	}
	return append(pieces, []byte(text))
}
