package anthropic

import (
	"bytes"
	"fmt"
	"slices"
)

var (
	toolParts     = set("type", "function", "cache_control")
	functionParts = set("name", "description", "parameters", "strict", "cache_control")
)

// noParameters is the schema of a function that takes none, for which OpenAI lets a
// client leave it out.
const noParameters = `{"type":"object","properties":{}}`

// readTools translates the tools. One in Anthropic's own form, such as a tool that
// its server runs, passes as it is.
func (r *request) readTools() (tools blocks, err error) {
	v := r.in["tools"]
	if v != nil && !isArray(v) {
		return tools, invalid("tools", "The field \"tools\" must be an array.")
	}
	err = elements(v, func(i int, v value) error {
		return r.readTool(fmt.Sprintf("tools[%d]", i), v, &tools)
	})
	return tools, err
}

func (r *request) readTool(place string, v value, to *blocks) error {
	m := fields(v)
	function, kind := m["function"], text(m["type"])
	switch {
	case !isObject(v):
		return invalid(place, "%s must be an object.", place)
	case isObject(m["custom"]):
		return invalid(place, "%s is a tool with free text as its input, which this model's API does not have.", place)
	case function == nil && kind != "function":
		to.give(v)
		return nil
	}
	f := fields(function)
	if text(f["name"]) == "" {
		return invalid(place+".function.name", "%s.function.name is missing.", place)
	}
	r.warnings.leftover("tools.function", f, functionParts)

	schema, err := r.schema(place, f["parameters"])
	if err != nil {
		return err
	}
	to.begin(false, true)
	o := &to.rope
	o.say(`{"name":`)
	o.add(f["name"])
	o.set("description", f["description"])
	o.set("input_schema", schema)
	if strict := f["strict"]; string(strict) == "true" {
		// (Anthropic, "Structured outputs": since Claude 4.1.)
		if generationOf(text(r.in["model"])).before(4, 1) {
			r.warnings.drop("tools.function.strict")
		} else {
			o.set("strict", strict)
		}
	}
	if cache := m["cache_control"]; cache != nil {
		o.set("cache_control", cache)
	} else if cache := f["cache_control"]; cache != nil {
		o.set("cache_control", cache)
	}
	_ = members(v, func(name string, v value) error {
		if !toolParts[name] && !absent(v) { // Anthropic's own, as at the top
			o.set(name, v)
		}
		return nil
	})
	o.close()
	return nil
}

// addTools offers the tools of earlier calls where the request has none: the API refuses calls and results in the
// messages of a request that defines no tools (LiteLLM's anthropic/chat/transformation.py adds one there). No call may be
// made of them.
func (r *request) addTools(names []value, to *blocks) {
	r.warnings.add("added", "tools")
	for _, name := range names {
		to.begin(false, true)
		o := &to.rope
		o.say(`{"name":`)
		o.add(name)
		o.set("input_schema", value(noParameters))
		o.close()
	}
}

// schema is a function's parameters as Anthropic takes them: an object that says so.
func (r *request) schema(place string, parameters value) (value, error) {
	switch {
	case hollow(parameters):
		return value(noParameters), nil
	case !isObject(parameters):
		return nil, invalid(place+".function.parameters", "%s.function.parameters must be a JSON schema of an object.", place)
	case fields(parameters)["type"] == nil:
		r.warnings.add("added", "tools.function.parameters.type")
		return slices.Concat(value(`{"type":"object",`), bytes.TrimSpace(parameters[1:])), nil
	}
	return parameters, nil
}

// choice is the field tool_choice.
type choice struct {
	v      value // nil for none
	forced bool  // a call must be made
}

// choices are OpenAI's words for tool_choice, as Anthropic's types.
var choices = map[string]string{"none": "none", "auto": "auto", "required": "any", "any": "any"}

// readChoice translates tool_choice and parallel_tool_calls. Without tools, words
// that demand no call say nothing and are left out.
func (r *request) readChoice(tools bool) (choice, error) {
	v := r.in["tool_choice"]
	o, kind, err := chosen(v)
	if err != nil {
		return choice{}, err
	}
	c := choice{forced: kind == "any" || kind == "tool"}
	const single = "disable_parallel_tool_use"
	alone := string(r.in["parallel_tool_calls"]) == "false" && kind != "none" && fields(v)[single] == nil
	if !c.forced && !tools || v == nil && !alone {
		return c, nil
	}
	if alone {
		o.set(single, value("true"))
	}
	c.v = o.close()
	return c, nil
}

// chosen is a tool_choice in Anthropic's form, and its type there. None is the same
// as auto.
func chosen(v value) (o object, kind string, err error) {
	m := fields(v)
	kind = text(m["type"])
	switch {
	case v == nil:
		kind = "auto"
	case isString(v):
		if kind = choices[text(v)]; kind == "" {
			return nil, "", invalid("tool_choice", "The field \"tool_choice\" must be none, auto, required, or name a function, not %s.", excerpt(v))
		}
	case kind == "function":
		name := fields(m["function"])["name"]
		if text(name) == "" {
			return nil, "", invalid("tool_choice.function.name", "The field \"tool_choice\" must name a function.")
		}
		o.setString("type", "tool")
		o.set("name", name)
		return o, "tool", nil
	case kind == "auto" || kind == "none" || kind == "any" || kind == "tool": // Anthropic's own form
		_ = members(v, func(name string, v value) error {
			o.set(name, v)
			return nil
		})
		return o, kind, nil
	default:
		return nil, "", invalid("tool_choice", "This model's API has no tool_choice of the type %q.", cut(kind))
	}
	o.setString("type", kind)
	return o, kind, nil
}
