package protocol

import (
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Names are those of the members of an object that a translation reads.
type Names map[string]bool

// NamesOf makes Names of a list.
func NamesOf(list ...string) Names {
	set := make(Names, len(list))
	for _, name := range list {
		set[name] = true
	}
	return set
}

// Leftover calls f with the names of the members of an object that are not among these: those that a
// translation drops. Members that say nothing, which clients send back because they got them, are not
// worth a word, and neither are those whose value, in neutral by name, means as much as if they were not there.
func (n Names) Leftover(object []byte, neutral map[string]string, f func(name string)) {
	wire.Members(object, 0, func(key []byte, at wire.Span) bool {
		v := at.Of(object)
		if n[string(key)] || IsHollow(v) { // as nearly all
			return true
		}
		if name := string(wire.Key(key)); !n[name] && string(v) != neutral[name] {
			f(name)
		}
		return true
	})
}

// DroppedMembers are the warnings of members of a chat completion's message for which other protocols have no place.
var DroppedMembers = map[string]string{"audio": "audio_dropped", "images": "image_dropped", "executed_tools": "executed_tools_dropped"}

// maxPart is how much of the type of a part is named.
const maxPart = 40

// WarnOfPart says that a part of a chat completion's content has no place in another protocol: one that is
// neither a text nor a thought, such as a reference of Mistral's.
func WarnOfPart(s *gateway.Summary, kind string) {
	if kind != "text" {
		s.Warn("part_dropped:" + gateway.ExcerptOf(kind, maxPart))
	}
}

// IsHollow reports whether a value of JSON says nothing: null, false, and what is empty.
func IsHollow(v []byte) bool {
	if len(v) >= 2 && (v[0] == '{' || v[0] == '[') {
		return wire.Blank(v[1 : len(v)-1])
	}
	return string(v) == "null" || string(v) == `""` || string(v) == "false"
}

// maxWarnings is how many different things are said of a request, before "more": they go into a header.
const maxWarnings = 24

// AddWarning adds a warning to those of a request, once.
func AddWarning(list []string, w string) []string {
	switch n := len(list); {
	case slices.Contains(list, w) || n > maxWarnings:
		return list
	case n == maxWarnings:
		return append(list, "more")
	}
	return append(list, w)
}
