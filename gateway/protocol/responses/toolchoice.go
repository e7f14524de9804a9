package responses

import (
	"fmt"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// chooser reads which tools may be called, of those that a request offers.
type chooser struct {
	set     *toolset
	serves  bool // as in toolReader
	remarks *remarks
}

// choice is the chat completion's for the value of tool_choice, nil for none, and settles which tools it has.
func (c *chooser) choice(value []byte) (choice []byte, err error) {
	if isObject(value) {
		choice, err = c.choose(value)
	} else if value != nil {
		switch word := wire.Unquote(value); word {
		case "none", "auto", "required":
			choice = value
		default:
			err = invalid("tool_choice", "The field \"tool_choice\" must be \"none\", \"auto\", \"required\" or an object, not %s.", gateway.Excerpt(value))
		}
	}
	if err != nil {
		return nil, err
	}
	c.set.entries = slices.DeleteFunc(c.set.entries, func(e entry) bool { return c.set.byName[e.name].barred })
	if string(choice) == `"required"` && len(c.set.entries) == 0 {
		c.remarks.needsOwn(invalid("tool_choice", "The field \"tool_choice\" demands a call, but there is no tool left that this model could be offered: it has functions and custom tools only."))
		return nil, nil
	}
	return choice, nil
}

// choose reads a tool_choice that is an object.
func (c *chooser) choose(choice object) ([]byte, error) {
	switch kind := wire.Unquote(choice.get("type")); kind {
	case "function", "custom":
		name, _, err := c.known(choice, "tool_choice")
		if err != nil {
			return nil, err
		}
		return append(wire.AppendQuoted([]byte(`{"type":"function","function":{"name":`), name), "}}"...), nil
	case "allowed_tools":
		return c.allow(choice)
	case "mcp":
		if c.serves {
			return c.chooseServer(choice)
		}
		fallthrough
	default:
		c.remarks.needsOwn(invalid("tool_choice", "The field \"tool_choice\" demands the tool %q, which runs at OpenAI: this model has functions and custom tools only.", gateway.ExcerptOf(kind, 40)))
		return nil, nil
	}
}

// chooseServer reads a tool_choice that demands a tool of a server, or any: of the others too, since
// chat completions have no word for those of one server.
func (c *chooser) chooseServer(choice object) ([]byte, error) {
	if _, _, err := c.known(choice, "tool_choice"); err != nil {
		return nil, err
	}
	name := wire.Unquote(choice.get("name"))
	if name == "" {
		return []byte(`"required"`), nil
	}
	alias := served.Alias(wire.Unquote(choice.get("server_label")), name)
	return append(append([]byte(`{"type":"function","function":{"name":`), alias...), "}}"...), nil
}

// known finds the tools that a choice names: one, or all of a namespace.
func (c *chooser) known(choice object, place string) (name string, all []string, err error) {
	if !isObject(choice) {
		return "", nil, invalid(place, "%s must be an object, not %s.", place, gateway.Excerpt(choice))
	}
	plain, space := wire.Unquote(choice.get("name")), wire.Unquote(choice.get("namespace"))
	if wire.Unquote(choice.get("type")) == "namespace" {
		for name, t := range c.set.byName {
			if t.space == plain {
				all = append(all, name)
			}
		}
	} else if kind := wire.Unquote(choice.get("type")); kind == "mcp" {
		plain = wire.Unquote(choice.get("server_label"))
		if _, ok := c.set.byName[serverName(plain)]; ok {
			all = []string{serverName(plain)}
		}
	} else {
		name = plain
		if space != "" {
			name = flat(space, plain)
		}
		if _, ok := c.set.byName[name]; ok {
			all = []string{name}
		}
	}
	if len(all) == 0 {
		return "", nil, invalid(place+".name", "%s.name is %q, and no tool is called that.", place, gateway.ExcerptOf(plain, maxName))
	}
	return name, all, nil
}

// allow reads a tool_choice that allows some of the tools. The model does not hear of the
// others, and a call of one does not reach the client.
func (c *chooser) allow(choice object) ([]byte, error) {
	mode, list := choice.get("mode"), choice.get("tools")
	if word := wire.Unquote(mode); word != "auto" && word != "required" {
		return nil, invalid("tool_choice.mode", "tool_choice.mode must be \"auto\" or \"required\", not %q.", gateway.ExcerptOf(word, 40))
	}
	if !isArray(list) {
		return nil, invalid("tool_choice.tools", "tool_choice.tools must be an array of tools.")
	}
	c.set.restricted = true
	allowed := map[string]bool{}
	var err error
	wire.Elements(list, 0, func(n int, v wire.Span) bool {
		one, place := object(v.Of(list)), fmt.Sprintf("tool_choice.tools[%d]", n)
		switch kind := wire.Unquote(one.get("type")); {
		case kind == "function", kind == "custom", kind == "namespace", kind == "mcp" && c.serves:
			var names []string
			_, names, err = c.known(one, place)
			for _, name := range names {
				allowed[name] = true
			}
		default:
			c.remarks.warn("tool_dropped", kind)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	for name, t := range c.set.byName {
		t.barred = !allowed[name]
		c.set.byName[name] = t
	}
	return mode, nil
}
