package anthropic

import (
	"maps"
	"slices"
	"strings"
)

const (
	maxWarnings = 32 // different ones that a reply lists
	maxNamed    = 64 // bytes of a name that comes from outside
)

// warnings are what a reply says about its request and itself, each once, in the
// order in which it came up. A warning is a verb and what it is about:
//
//	dropped:seed        the Messages API has no word for it
//	clamped:temperature its range is narrower
//	moved:system        a system message that stood between others
//	added:…             what the wire demands and the client did not say
//	cut:tool_calls      the answer was cut at a call that has no arguments yet
//	block:…, delta:…    a part of the answer that OpenAI's form has no place for,
//	event:…             and that is kept in provider_specific_fields if it holds
//	stop_reason:…       more than a note; not said of what a client of the Messages
//	                    API gets as it is
//
// The texts go into a header. What is named by the client or by the upstream is
// therefore written only if it is a plain word.
type warnings []string

func (w *warnings) add(verb, what string) {
	if !plain(what) {
		what = "other"
	}
	text := verb + ":" + what
	if slices.Contains(*w, text) {
		return
	}
	if len(*w) == maxWarnings {
		text = "more"
	}
	if len(*w) <= maxWarnings {
		*w = append(*w, text)
	}
}

func (w *warnings) drop(what string) { w.add("dropped", what) }

func plain(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	return s != "" && len(s) <= maxNamed && strings.Trim(s, letters) == ""
}

// leftover reports the fields of m that are not in known. Those that say nothing,
// which clients send back because they got them, are not worth a word.
func (w *warnings) leftover(place string, m map[string]value, known map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !known[name] && !hollow(m[name]) {
			w.drop(place + "." + name)
		}
	}
}
