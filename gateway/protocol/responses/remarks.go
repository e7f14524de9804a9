package responses

import (
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// remarks are what there is to say of a request that is translated.
type remarks struct {
	warnings []string
	foreign  *gateway.Error // why no upstream can take it that does not speak the Responses API; nil if any can
}

// needsOwn notes what only an upstream of the Responses API can take.
func (m *remarks) needsOwn(e *gateway.Error) {
	if m.foreign == nil {
		m.foreign = e
	}
}

// maxWarnings is how many different things are said of one request, before "more": they go into a header.
const maxWarnings = 24

// warn adds a warning, once.
func (m *remarks) warn(kind, what string) {
	w := kind + ":" + gateway.ExcerptOf(what, 40)
	switch n := len(m.warnings); {
	case slices.Contains(m.warnings, w) || n > maxWarnings:
	case n == maxWarnings:
		m.warnings = append(m.warnings, "more")
	default:
		m.warnings = append(m.warnings, w)
	}
}

// leftover names the members of an object of which nothing is made. Those that say nothing, which
// clients send back because they got them, are not worth a word.
func (m *remarks) leftover(place string, o object, known names) {
	wire.Members(o, 0, func(key []byte, at wire.Span) bool {
		if known[string(key)] || isHollow(at.Of(o)) { // as nearly all
			return true
		}
		if name := wire.Unquote(slices.Concat([]byte{'"'}, key, []byte{'"'})); !known[name] && string(at.Of(o)) != neutral[name] {
			m.warn("dropped", place+name)
		}
		return true
	})
}

// isHollow reports whether a value says nothing.
func isHollow(v []byte) bool {
	if isObject(v) || isArray(v) {
		return wire.Blank(v[1 : len(v)-1])
	}
	return string(v) == "null" || string(v) == `""` || string(v) == "false"
}

// neutral are values that mean as much as if the member were not there.
var neutral = map[string]string{"allowed_callers": `["direct"]`, "caller": `{"type":"direct"}`}

// names are those of members.
type names map[string]bool

func namesOf(list ...string) names {
	set := make(names, len(list))
	for _, name := range list {
		set[name] = true
	}
	return set
}

// The members that are read, by where they stand. An item's id and status are the answer's that it was a part of.
var (
	knownReasoning = namesOf("effort", "summary", "generate_summary")
	knownText      = namesOf("format", "verbosity")
	knownFormat    = namesOf("type", "name", "description", "schema", "strict")
	knownFunction  = namesOf("type", "name", "description", "parameters", "strict")
	knownCustom    = namesOf("type", "name", "description", "format")
	knownNamespace = namesOf("type", "name", "description", "tools")
	knownMessage   = namesOf("type", "id", "status", "role", "content")
	knownCall      = namesOf("type", "id", "status", "call_id", "name", "namespace", "arguments", "input")
	knownResult    = namesOf("type", "id", "status", "call_id", "output")
	knownPart      = namesOf("type", "text")
	knownRefusal   = namesOf("type", "refusal")
	knownMedia     = map[string]names{
		"input_image": namesOf("type", "image_url", "detail"),
		"input_file":  namesOf("type", "file_data", "filename", "file_url"),
		"input_audio": namesOf("type", "input_audio"),
	}
	knownAdditional = namesOf("type", "id", "status", "role", "tools")
)
