package scripted

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/callgate/callgate/gateway/formats"
)

// Text serves a model that knows tools below URL, which ends in /v1, behind a server that
// does not know the model's format, as vLLM without a parser of tool calls: the history
// has calls and results as OpenAI's API has them, and the answers have the calls as text,
// in the form called format.
func Text(t testing.TB, format string) *Server {
	t.Helper()
	f, ok := formats.Find(format)
	if !ok {
		t.Fatalf("there is no format called %q", format)
	}
	s := wire{
		admit:  admitOpenAI,
		rules:  rules{id: shortID, arguments: true}, // templates read the arguments
		refuse: textWords,
		broken: openAIError("The body is not valid JSON.", "", ""),
		id:     func(string, int) string { return "" }, // what is text has none
		write: func(w http.ResponseWriter, req *chatRequest, t turn) {
			openAIStyle().write(w, req, turn{text: written(f, t)})
		},
	}.serve(t)
	s.URL += "/v1"
	return s
}

// textWords are OpenAI's, and those of a template that cannot read arguments.
func textWords(f fault) refusal {
	if f.kind == badArguments {
		return openAIError("The arguments of a tool call are not a JSON object.", f.path(), "")
	}
	return openAIWords(f)
}

// written is a turn as the model writes it.
func written(f formats.Format, t turn) string {
	said := formats.Turn{Content: t.text}
	for _, c := range t.calls {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.arguments), &members); err != nil {
			panic(err) // the script's own arguments are objects
		}
		written := formats.Call{Name: c.name}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			written.Args = append(written.Args, formats.Arg{Key: key, Value: members[key]})
		}
		said.Calls = append(said.Calls, written)
	}
	return f.Write(said)
}
