package messages

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// remarks are what there is to say of a request that is translated.
type remarks struct {
	warnings []string
	foreign  *gateway.Error // why an upstream cannot take it that does not speak the Messages API; nil if any can
}

// maxWarnings is how many different things are said, before "more"; they go into a header. maxNamed is how
// long a name may be that comes from the client.
const (
	maxWarnings = 24
	maxNamed    = 64
)

// add notes a warning: a verb, and what it is about. Names are the client's, and written only if they are plain words.
func (m *remarks) add(verb, what string) {
	if !isPlain(what) {
		what = "other"
	}
	w := verb + ":" + what
	switch n := len(m.warnings); {
	case slices.Contains(m.warnings, w) || n > maxWarnings:
	case n == maxWarnings:
		m.warnings = append(m.warnings, "more")
	default:
		m.warnings = append(m.warnings, w)
	}
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

// leftover names the members of an object of which nothing is made. Those that say nothing, which
// clients send back because they got them, are not worth a word.
func (m *remarks) leftover(place string, object value, known names) {
	wire.Members(object, 0, func(key []byte, at wire.Span) bool {
		if known[string(key)] || at.IsNull(object) { // as nearly all
			return true
		}
		if name, v := nameOf(key), at.Of(object); !known[name] && !isHollow(v) && string(v) != neutral[name] {
			m.dropped(place + name)
		}
		return true
	})
}

// isHollow reports whether a value says nothing.
func isHollow(v value) bool {
	if isObject(v) || isArray(v) {
		return wire.Blank(v[1 : len(v)-1])
	}
	return string(v) == `""` || string(v) == "false"
}

// neutral are values that mean as much as if the member were not there.
var neutral = map[string]string{
	"service_tier": `"auto"`, "speed": `"standard"`, "allowed_callers": `["direct"]`, "caller": `{"type":"direct"}`, "citations": `{"enabled":false}`,
}

// names are those of members.
type names map[string]bool

func namesOf(list ...string) names {
	set := make(names, len(list))
	for _, name := range list {
		set[name] = true
	}
	return set
}

// The members that are read, by where they stand.
var (
	knownFields = namesOf("model", "messages", "system", "max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences",
		"metadata", "thinking", "output_config", "output_format", "mcp_servers", "tools", "tool_choice")
	knownMetadata  = namesOf("user_id")
	knownThinking  = namesOf("type", "budget_tokens", "display")
	knownOutput    = namesOf("effort", "format")
	knownFormat    = namesOf("type", "schema")
	knownTool      = namesOf("type", "name", "description", "input_schema", "strict")
	knownTypedTool = namesOf("type", "name")
	knownToolset   = namesOf("type", "mcp_server_name", "configs", "default_config")
	knownServer    = namesOf("type", "name", "url", "authorization_token", "tool_configuration")
	knownChoice    = namesOf("type", "name", "disable_parallel_tool_use")
	knownMessage   = namesOf("role", "content")
	knownText      = namesOf("type", "text")
	knownCall      = namesOf("type", "id", "name", "input")
	knownRan       = namesOf("type", "id", "name", "input", "server_name")
	knownResult    = namesOf("type", "tool_use_id", "content", "is_error")
	knownThought   = namesOf("type", "thinking", "signature")
	knownReference = namesOf("type", "tool_name")
	knownImage     = namesOf("type", "source")
	knownDocument  = namesOf("type", "source", "title", "context")
	knownFound     = namesOf("type", "source", "title", "content")
	knownSource    = namesOf("type", "media_type", "data", "url", "file_id", "content")
)
