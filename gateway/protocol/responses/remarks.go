package responses

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
)

// remarks are what there is to say of a request that is translated.
type remarks struct {
	warnings []string
	foreign  *gateway.Error // why no upstream can take it that does not speak the Responses API; nil if any can
	hosted   gateway.Hosted // tools that OpenAI runs
}

// needsOwn notes what only an upstream of the Responses API can take.
func (m *remarks) needsOwn(e *gateway.Error) {
	if m.foreign == nil {
		m.foreign = e
	}
}

// dropTool notes a tool that OpenAI runs, and that a chat completion has no form for.
func (m *remarks) dropTool(kind string) {
	m.hosted.Add(kind)
	m.warn("tool_dropped", kind)
}

// warn adds a warning, once.
func (m *remarks) warn(kind, what string) {
	m.warnings = protocol.AddWarning(m.warnings, kind+":"+gateway.ExcerptOf(what, 40))
}

// leftover names the members of an object of which nothing is made.
func (m *remarks) leftover(place string, o object, known protocol.Names) {
	known.Leftover(o, neutral, func(name string) { m.warn("dropped", place+name) })
}

// neutral are values that mean as much as if the member were not there.
var neutral = map[string]string{"allowed_callers": `["direct"]`, "caller": `{"type":"direct"}`}

// The members that are read, by where they stand. An item's id and status are the answer's that it was a part of.
var (
	knownReasoning = protocol.NamesOf("effort", "summary", "generate_summary")
	knownText      = protocol.NamesOf("format", "verbosity")
	knownFormat    = protocol.NamesOf("type", "name", "description", "schema", "strict")
	knownFunction  = protocol.NamesOf("type", "name", "description", "parameters", "strict")
	knownCustom    = protocol.NamesOf("type", "name", "description", "format")
	knownNamespace = protocol.NamesOf("type", "name", "description", "tools")
	knownMessage   = protocol.NamesOf("type", "id", "status", "role", "content")
	knownCall      = protocol.NamesOf("type", "id", "status", "call_id", "name", "namespace", "arguments", "input")
	knownResult    = protocol.NamesOf("type", "id", "status", "call_id", "output")
	knownPart      = protocol.NamesOf("type", "text")
	knownRefusal   = protocol.NamesOf("type", "refusal")
	knownMedia     = map[string]protocol.Names{
		"input_image": protocol.NamesOf("type", "image_url", "detail"),
		"input_file":  protocol.NamesOf("type", "file_data", "filename", "file_url"),
		"input_audio": protocol.NamesOf("type", "input_audio"),
	}
	knownAdditional = protocol.NamesOf("type", "id", "status", "role", "tools")
)
