package anthropic

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// setPlain sets the fields that differ from OpenAI's in little more than their range.
// Thinking that was asked for by reasoning_effort leaves no choice of tokens to the
// client: with it the Messages API refuses another temperature than 1, any top_k, and
// a top_p below 0.95.
func (r *request) setPlain(o *object, think thinking) {
	if v := r.in["temperature"]; v != nil {
		switch n, err := strconv.ParseFloat(string(v), 64); {
		case think.derived && n != 1:
			r.warnings.drop("temperature")
		case err == nil && n > 1: // OpenAI's range ends at 2, Anthropic's at 1
			r.warnings.add("clamped", "temperature")
			o.set("temperature", value("1"))
		default:
			o.set("temperature", v)
		}
	}
	if v := r.in["top_p"]; v != nil {
		if n, _ := strconv.ParseFloat(string(v), 64); think.derived && n < 0.95 {
			r.warnings.drop("top_p")
		} else {
			o.set("top_p", v)
		}
	}
	if v := r.in["top_k"]; v != nil {
		if think.derived {
			r.warnings.drop("top_k")
		} else {
			o.set("top_k", v)
		}
	}
	o.setGiven("stream", r.in["stream"])
	r.setTier(o)
}

// tiers are OpenAI's words for what Anthropic knows too. Both call it "auto" if
// capacity that was paid for in advance may be used.
var tiers = map[string]string{"auto": "auto", "default": "standard_only", "standard_only": "standard_only"}

func (r *request) setTier(o *object) {
	v := r.in["service_tier"]
	if v == nil {
		return
	}
	if tier, ok := tiers[text(v)]; ok {
		o.setString("service_tier", tier)
	} else {
		r.warnings.drop("service_tier")
	}
}

// setStop sets stop_sequences from stop, which is a string or several, and from
// Anthropic's own field. One of white space alone would be refused.
func (r *request) setStop(o *object) {
	var stops list
	add := func(_ int, v value) error {
		if isString(v) && blank(v) {
			r.warnings.drop("stop.blank")
		} else {
			stops.add(v)
		}
		return nil
	}
	for _, name := range []string{"stop", "stop_sequences"} {
		if v := r.in[name]; isString(v) {
			_ = add(0, v)
		} else {
			_ = elements(v, add)
		}
	}
	if len(stops) > 0 {
		o.set("stop_sequences", stops.array())
	}
}

// setMetadata sets metadata.user_id, all that Anthropic's metadata has. It is the
// client's own, or else one of OpenAI's names for the same: safety_identifier, or
// user, which that took the place of.
func (r *request) setMetadata(o *object) {
	m := fields(r.in["metadata"])
	user := m["user_id"]
	r.warnings.leftover("metadata", m, set("user_id"))
	for _, name := range []string{"safety_identifier", "user"} {
		v := r.in[name]
		switch {
		case v == nil:
		case user == nil:
			user = v
		case string(user) != string(v):
			r.warnings.drop(name)
		}
	}
	if isEmail(text(user)) {
		r.warnings.drop("user")
		return
	}
	if user != nil {
		var inner object
		inner.set("user_id", user)
		o.set("metadata", inner.close())
	}
}

// isEmail reports whether the name of a user is an address, which the API refuses; see LiteLLM's
// anthropic/common_utils.py.
func isEmail(user string) bool {
	return slices.ContainsFunc(strings.Fields(user), func(word string) bool {
		name, host, ok := strings.Cut(word, "@")
		dot := strings.IndexByte(host, '.')
		return ok && name != "" && dot > 0 && dot < len(host)-1
	})
}

// setOutput sets output_config: the client's own members as they are, and what
// reasoning_effort and response_format come to.
func (r *request) setOutput(o *object, model generation, think thinking) {
	o.setGiven("thinking", think.v)
	own := fields(r.in["output_config"])
	var config object
	_ = members(r.in["output_config"], func(name string, v value) error {
		config.set(name, v)
		return nil
	})
	if think.effort != "" && own["effort"] == nil {
		config.setString("effort", think.effort)
	}
	if format := r.format(model); format != nil && own["format"] == nil {
		config.set("format", format)
	}
	if len(config) > 0 {
		o.set("output_config", config.close())
	}
}

// format is response_format in the form of output_config.format. (Anthropic,
// "Structured outputs": since Claude 4.1; there is no counterpart of "json_object".)
func (r *request) format(model generation) value {
	m := fields(r.in["response_format"])
	switch kind := text(m["type"]); {
	case len(m) == 0 || kind == "text":
		return nil
	case kind == "json_schema" && !model.before(4, 1):
		inner := fields(m["json_schema"])
		if schema := inner["schema"]; schema != nil {
			r.warnings.leftover("response_format.json_schema", inner, set("name", "schema", "strict"))
			var format object
			format.setString("type", "json_schema")
			format.set("schema", schema)
			return format.close()
		}
	}
	r.warnings.drop("response_format")
	return nil
}

// blank says whether a string has nothing but white space.
func blank(v value) bool {
	if isString(v) && len(v) > 2 && v[1] > ' ' && v[1] < utf8.RuneSelf && v[1] != '\\' {
		return false // most are not, and a long one need not be copied to see it
	}
	return strings.TrimSpace(text(v)) == ""
}
