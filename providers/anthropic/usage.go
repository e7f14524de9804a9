package anthropic

import (
	"bytes"
	"slices"
	"strconv"

	tokens "github.com/callgate/callgate/gateway/usage"
)

// usage is what an answer says about its tokens. A stream says it in pieces, of which
// the later ones count.
type usage struct {
	known  map[string]value
	others extras
}

// counts are the fields of a usage that are read. translatedCounts has OpenAI's names
// too, which nothing else may take the place of.
var (
	counts           = set("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "service_tier")
	translatedCounts = set("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "service_tier",
		"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details")
)

// add takes what a field usage says. A new total of what was written to the cache is not the sum of the parts that were
// said before.
func (u *usage) add(v value, w *warnings) {
	const total, parts = "cache_creation_input_tokens", "cache_creation"
	if n := get(v, total); !absent(n) && !bytes.Equal(n, u.known[total]) {
		u.others = slices.DeleteFunc(u.others, func(f field) bool { return f.name == parts })
	}
	_ = members(v, func(name string, v value) error {
		if counts[name] && !absent(v) {
			if u.known == nil {
				u.known = map[string]value{}
			}
			u.known[name] = clone(v)
		}
		return nil
	})
	u.others.add(v, translatedCounts, w)
}

// empty says whether nothing was said.
func (u *usage) empty() bool { return len(u.known) == 0 && len(u.others) == 0 }

// write gives the usage in OpenAI's form, whose prompt_tokens hold those that were
// read from the cache and written to it; Anthropic counts the three apart. What
// OpenAI has no name for stands beside, as it came. So does a count that is none, since
// the 0 in its place is not to be believed.
func (u *usage) write() value {
	var odd object
	count := func(name string) int {
		n, ok := tokens.Count(u.known[name])
		if !ok && u.known[name] != nil {
			odd.set(name, u.known[name])
			return 0
		}
		return n
	}
	read, written := count("cache_read_input_tokens"), count("cache_creation_input_tokens")
	prompt, completion := count("input_tokens")+read+written, count("output_tokens")

	var o object
	o.set("prompt_tokens", digits(prompt))
	o.set("completion_tokens", digits(completion))
	o.set("total_tokens", digits(prompt+completion))
	if u.known["cache_read_input_tokens"] != nil || u.known["cache_creation_input_tokens"] != nil { // a 0 would say that a cache was looked into
		var details object
		details.set("cached_tokens", digits(read))
		details.set("cache_creation_tokens", digits(written))
		o.set("prompt_tokens_details", details.close())
	}
	if n, ok := tokens.Count(u.others.get("output_tokens_details", "thinking_tokens")); ok {
		var details object
		details.set("reasoning_tokens", digits(n))
		o.set("completion_tokens_details", details.close())
	}
	o = append(o, odd.inner()...)
	u.others.set(&o)
	return o.close()
}

// setTier writes service_tier, which is a part of Anthropic's usage.
func (u *usage) setTier(o *object) {
	v := u.known["service_tier"]
	switch {
	case v == nil:
	case text(v) == "standard":
		o.setString("service_tier", "default")
	default:
		o.set("service_tier", v)
	}
}

func digits(n int) value { return strconv.AppendInt(nil, int64(n), 10) }
