package messages

import (
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
)

// remarks are what there is to say of a request that is translated.
type remarks struct {
	warnings []string
	foreign  *gateway.Error // why an upstream cannot take it that does not speak the Messages API; nil if any can
	hosted   gateway.Hosted // tools that Anthropic runs
}

// maxNamed is how long a name may be in a warning that comes from the client.
const maxNamed = 64

// add notes a warning: a verb, and what it is about. Names are the client's, and written only if they are plain words.
func (m *remarks) add(verb, what string) {
	if !isPlain(what) {
		what = "other"
	}
	m.warnings = protocol.AddWarning(m.warnings, verb+":"+what)
}

// dropped notes that something is left out.
func (m *remarks) dropped(what string) { m.add("dropped", what) }

func isPlain(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	return s != "" && len(s) <= maxNamed && strings.Trim(s, letters) == ""
}

// needsOwn notes what only an upstream of the Messages API can take.
func (m *remarks) needsOwn(e *gateway.Error) {
	if m.foreign == nil {
		m.foreign = e
	}
}

// leftover names the members of an object of which nothing is made.
func (m *remarks) leftover(place string, object value, known protocol.Names) {
	known.Leftover(object, neutral, func(name string) { m.dropped(place + name) })
}

// neutral are values that mean as much as if the member were not there.
var neutral = map[string]string{
	"service_tier": `"auto"`, "speed": `"standard"`, "allowed_callers": `["direct"]`, "caller": `{"type":"direct"}`, "citations": `{"enabled":false}`,
}

// The members that are read, by where they stand.
var (
	knownFields = protocol.NamesOf("model", "messages", "system", "max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences",
		"metadata", "thinking", "output_config", "output_format", "mcp_servers", "tools", "tool_choice")
	knownMetadata  = protocol.NamesOf("user_id")
	knownThinking  = protocol.NamesOf("type", "budget_tokens", "display")
	knownOutput    = protocol.NamesOf("effort", "format")
	knownFormat    = protocol.NamesOf("type", "schema")
	knownTool      = protocol.NamesOf("type", "name", "description", "input_schema", "strict")
	knownTypedTool = protocol.NamesOf("type", "name")
	knownToolset   = protocol.NamesOf("type", "mcp_server_name", "configs", "default_config")
	knownServer    = protocol.NamesOf("type", "name", "url", "authorization_token", "tool_configuration")
	knownChoice    = protocol.NamesOf("type", "name", "disable_parallel_tool_use")
	knownMessage   = protocol.NamesOf("role", "content")
	knownText      = protocol.NamesOf("type", "text")
	knownAddition  = protocol.NamesOf("type", "tool")
	knownCall      = protocol.NamesOf("type", "id", "name", "input")
	knownRan       = protocol.NamesOf("type", "id", "name", "input", "server_name")
	knownResult    = protocol.NamesOf("type", "tool_use_id", "content", "is_error")
	knownThought   = protocol.NamesOf("type", "thinking", "signature")
	knownReference = protocol.NamesOf("type", "tool_name")
	knownImage     = protocol.NamesOf("type", "source")
	knownDocument  = protocol.NamesOf("type", "source", "title", "context")
	knownFound     = protocol.NamesOf("type", "source", "title", "content")
	knownSource    = protocol.NamesOf("type", "media_type", "data", "url", "file_id", "content")
)
