package responses

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// tool is a tool as the client knows it, by the name that the model knows.
type tool struct {
	name, space string // space is the namespace, "" for most
	custom      bool   // its input is one text
	barred      bool   // tool_choice leaves it out
}

// toolset are the tools of a request.
type toolset struct {
	byName     map[string]tool
	entries    []entry
	echo       []echoed
	servers    bool // some are of servers of the gateway's
	restricted bool // only some of them may be called
}

// note notes a tool by the name that the model knows.
func (s *toolset) note(name string, t tool) {
	if s.byName == nil {
		s.byName = map[string]tool{}
	}
	s.byName[name] = t
}

// echoed is a tool as the response names it.
type echoed struct {
	tool    object
	missing string // members that clients expect of it besides, each with a comma in front
}

// allowed is the name by which the model knows a tool; ok is false for one that the client bars.
func (s *toolset) allowed(space, name string) (known string, ok bool) {
	known = name
	if space != "" {
		known = flat(space, name)
	}
	t, has := s.byName[known]
	return known, !t.barred && (has || !s.restricted)
}

// entry is a tool of the chat completion.
type entry struct {
	name string // that the model knows
	json []byte
}

const (
	maxName = 64 // of a function, at OpenAI and elsewhere
	joint   = "__"
)

// flat is the name by which the model knows a tool of a namespace.
func flat(space, name string) string { return gateway.FlatName(space, name) }

// readTools adds a list of tools.
func (r *Request) readTools(list []byte, place string) (err error) {
	wire.Elements(list, 0, func(n int, v wire.Span) bool {
		err = r.readTool(object(v.Of(list)), place+"["+strconv.Itoa(n)+"]")
		return err == nil
	})
	return err
}

func (r *Request) readTool(t object, place string) error {
	if !isObject(t) {
		return invalid(place, "%s must be an object, not %s.", place, gateway.Excerpt(t))
	}
	kind := wire.Unquote(t.get("type"))
	echo := echoed{tool: t}
	var err error
	switch kind {
	case "function":
		echo.missing, err = r.addFunction(t, "", "", place)
	case "custom":
		err = r.addCustom(t, "", "", place)
	case "namespace":
		err = r.addNamespace(t, place)
	case "":
		return invalid(place+".type", "%s.type is missing: say \"function\", or which tool it is.", place)
	case "mcp":
		if !r.options.Serves {
			r.warn("tool_dropped", kind)
			break
		}
		err = r.addServer(t, place)
	default:
		r.warn("tool_dropped", kind)
	}
	if err != nil {
		return err
	}
	r.tools.echo = append(r.tools.echo, echo)
	return nil
}

// addNamespace adds the tools of a namespace, under names that say it.
func (r *Request) addNamespace(t object, place string) error {
	space, list := wire.Unquote(t.get("name")), t.get("tools")
	switch {
	case space == "":
		return invalid(place+".name", "%s.name is missing: name the namespace.", place)
	case !isArray(list):
		return invalid(place+".tools", "%s.tools must be an array of tools.", place)
	}
	about := ""
	if text := wire.Unquote(t.get("description")); text != "" {
		about = fmt.Sprintf("\n\nOf all tools %s%s*: %s", space, joint, text)
	}
	var err error
	wire.Elements(list, 0, func(n int, v wire.Span) bool {
		inside, at := object(v.Of(list)), fmt.Sprintf("%s.tools[%d]", place, n)
		switch kind := wire.Unquote(inside.get("type")); kind {
		case "function":
			_, err = r.addFunction(inside, space, about, at)
		case "custom":
			err = r.addCustom(inside, space, about, at)
		default:
			err = invalid(at+".type", "%s.type must be \"function\" or \"custom\", not %q.", at, gateway.ExcerptOf(kind, 40))
		}
		about = "" // once is enough
		return err == nil
	})
	return err
}

// addServer adds a server whose tools the gateway runs. Its entry goes on as it is: who runs them
// judges it.
func (r *Request) addServer(t object, place string) error {
	label := wire.Unquote(t.get("server_label"))
	name := serverName(label)
	switch _, twice := r.tools.byName[name]; {
	case label == "":
		return invalid(place+".server_label", "%s.server_label is missing: name one of the gateway's tool servers.", place)
	case twice:
		return invalid(place+".server_label", "%s.server_label is %q, which is there twice.", place, gateway.ExcerptOf(label, maxName))
	case len(r.tools.byName) >= maxTools:
		return invalid("tools", "There are more than %d tools.", maxTools)
	}
	r.tools.note(name, tool{name: label})
	r.tools.entries, r.tools.servers = append(r.tools.entries, entry{name, t}), true
	return nil
}

// serverName stands for a server among the names of tools, of which none has a space.
func serverName(label string) string { return "mcp " + label }

// name notes the name of a tool, given as JSON, and returns that for the model, likewise.
func (r *Request) name(t object, given []byte, space string, custom bool, place string) (name string, quoted []byte, err error) {
	quoted = given
	plain := wire.Unquote(quoted)
	if plain == "" {
		if t.get("function") != nil {
			return "", nil, invalid(place+".name", "%s.name is missing: in the Responses API name, description and parameters stand beside type, not in \"function\".", place)
		}
		return "", nil, invalid(place+".name", "%s.name is missing: name the tool.", place)
	}
	name = plain
	if space != "" {
		name = flat(space, plain)
		quoted = wire.AppendQuoted(nil, name)
	}
	if _, twice := r.tools.byName[name]; twice {
		return "", nil, invalid(place+".name", "%s.name is %q, which another tool is called too.", place, gateway.ExcerptOf(name, maxName))
	}
	if len(r.tools.byName) >= maxTools {
		return "", nil, invalid("tools", "There are more than %d tools.", maxTools)
	}
	r.tools.note(name, tool{name: plain, space: space, custom: custom})
	return name, quoted, nil
}

// function is a tool of that type by its members, which are looked up together: a request may have thousands.
type function struct {
	name, description, parameters, strict []byte
	// held says that its arguments are: Responses demand a strict schema unless told otherwise, as far as it is one.
	// A function without parameters has an open one.
	held bool
}

// readFunction reads a function; what is null is as if it were not there. missing are the members that its echo has
// besides.
func readFunction(t object) (f function, missing string) {
	described, typed, stated := false, false, false
	wire.Members(t, 0, func(key []byte, at wire.Span) bool {
		v := at.Of(t)
		if at.IsNull(t) {
			v = nil
		}
		switch string(key) {
		case "name":
			f.name = v
		case "description":
			f.description, described = v, true
		case "parameters":
			f.parameters, typed = v, true
		case "strict":
			f.strict, stated = v, true
		}
		return true
	})
	f.held = string(f.strict) == "true" || f.strict == nil && f.parameters != nil && isStrict(f.parameters)
	if !described {
		missing = `,"description":null`
	}
	if !typed {
		missing += `,"parameters":null`
	}
	if !stated {
		missing += `,"strict":` + strconv.FormatBool(f.held)
	}
	return f, missing
}

// addFunction adds a function. missing are the members that its echo has besides.
func (r *Request) addFunction(t object, space, about, place string) (missing string, err error) {
	f, missing := readFunction(t)
	name, quoted, err := r.name(t, f.name, space, false, place)
	if err != nil {
		return "", err
	}
	parameters := f.parameters
	if parameters == nil {
		parameters = []byte(`{"type":"object","properties":{}}`)
	} else if !isObject(parameters) {
		return "", invalid(place+".parameters", "%s.parameters must be an object, a JSON schema.", place)
	}
	if flag := string(f.strict); flag != "" && flag != "true" && flag != "false" {
		return "", invalid(place+".strict", "%s.strict must be true or false, not %s.", place, gateway.ExcerptOf(flag, 40))
	}
	const frame = 128 // around its parts
	b := append(make([]byte, 0, len(t)+len(quoted)+2*len(about)+len(parameters)-len(f.parameters)+frame), `{"type":"function","function":{"name":`...)
	b = append(b, quoted...)
	if isString(f.description) || about != "" {
		b = append(append(b, `,"description":`...), joined(f.description, about)...)
	}
	b = append(append(b, `,"parameters":`...), parameters...)
	switch {
	case f.held:
		b = append(b, `,"strict":true`...)
	case f.strict != nil:
		b = append(b, `,"strict":false`...)
	}
	r.tools.entries = append(r.tools.entries, entry{name, append(b, "}}"...)})
	return missing, nil
}

// joined is a text with more behind it, as JSON.
func joined(text []byte, more string) []byte {
	if !isString(text) {
		text = []byte(`""`)
	}
	if more == "" {
		return text
	}
	return append(append([]byte(nil), text[:len(text)-1]...), wire.AppendQuoted(nil, more)[1:]...)
}

// addCustom adds a tool whose input is a text, as a function with that one argument.
func (r *Request) addCustom(t object, space, about, place string) error {
	name, quoted, err := r.name(t, t.get("name"), space, true, place)
	if err != nil {
		return err
	}
	how := "\n\nThe argument \"input\" is the tool's whole input, as plain text."
	format := object(t.get("format"))
	switch kind := wire.Unquote(format.get("type")); kind {
	case "", "text":
	case "grammar":
		syntax, definition := wire.Unquote(format.get("syntax")), wire.Unquote(format.get("definition"))
		if definition == "" {
			return invalid(place+".format.definition", "%s.format.definition is missing: a grammar is a string.", place)
		}
		r.warn("grammar_not_enforced", name)
		how = fmt.Sprintf("%s It must match this grammar (%s):\n%s", how, gateway.ExcerptOf(syntax, 20), definition)
	default:
		return invalid(place+".format.type", "%s.format.type must be \"text\" or \"grammar\", not %q.", place, gateway.ExcerptOf(kind, 40))
	}
	b := append([]byte(`{"type":"function","function":{"name":`), quoted...)
	b = append(append(b, `,"description":`...), joined(t.get("description"), how+about)...)
	b = append(b, `,"parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}}}`...)
	r.tools.entries = append(r.tools.entries, entry{name, b})
	return nil
}

// echoSize is how many bytes the tools have as the response names them.
func (s *toolset) echoSize() (size int) {
	for _, e := range s.echo {
		size += len(",") + len(e.tool) + len(e.missing)
	}
	return size
}

// appendEcho appends the tools as the response names them, with commas between them.
func (s *toolset) appendEcho(b []byte) []byte {
	for i, e := range s.echo {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendLine(b, e.tool)
		b = append(append(b[:len(b)-1], e.missing...), '}')
	}
	return b
}

// isStrict reports whether a schema is one that a model can be held to: each object names all
// of its properties as required and takes no others.
func isStrict(schema []byte) bool {
	switch {
	case isArray(schema):
		ok := true
		wire.Elements(schema, 0, func(_ int, v wire.Span) bool {
			ok = isStrict(v.Of(schema))
			return ok
		})
		return ok
	case !isObject(schema):
		return true
	}
	s := object(schema)
	if properties := s.get("properties"); isObject(properties) || wire.Unquote(s.get("type")) == "object" {
		if string(s.get("additionalProperties")) != "false" || !allRequired(properties, s.get("required")) {
			return false
		}
	}
	ok := true
	wire.Members(schema, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "enum", "const", "default", "examples", "required": // values, not schemas
		default:
			ok = isStrict(v.Of(schema))
		}
		return ok
	})
	return ok
}

// allRequired reports whether a list names every member of an object.
func allRequired(properties, required []byte) bool {
	names := map[string]bool{}
	if isArray(required) {
		wire.Elements(required, 0, func(_ int, v wire.Span) bool {
			names[wire.Unquote(v.Of(required))] = true
			return true
		})
	}
	all := true
	if isObject(properties) {
		wire.Members(properties, 0, func(key []byte, _ wire.Span) bool {
			all = names[wire.Unquote(append(append([]byte{'"'}, key...), '"'))]
			return all
		})
	}
	return all
}

// toolChoice is the chat completion's, nil for none, and settles which tools it has.
func (r *Request) toolChoice() (choice []byte, err error) {
	value := r.fields[fToolChoice]
	if isObject(value) {
		choice, err = r.choose(value)
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
	r.tools.entries = slices.DeleteFunc(r.tools.entries, func(e entry) bool { return r.tools.byName[e.name].barred })
	if string(choice) == `"required"` && len(r.tools.entries) == 0 {
		r.needsOwn(invalid("tool_choice", "The field \"tool_choice\" demands a call, but there is no tool left that this model could be offered: it has functions and custom tools only."))
		return nil, nil
	}
	return choice, nil
}

// choose reads a tool_choice that is an object.
func (r *Request) choose(choice object) ([]byte, error) {
	switch kind := wire.Unquote(choice.get("type")); kind {
	case "function", "custom":
		name, _, err := r.known(choice, "tool_choice")
		if err != nil {
			return nil, err
		}
		return append(wire.AppendQuoted([]byte(`{"type":"function","function":{"name":`), name), "}}"...), nil
	case "allowed_tools":
		return r.allow(choice)
	case "mcp":
		if r.options.Serves {
			return r.chooseServer(choice)
		}
		fallthrough
	default:
		r.needsOwn(invalid("tool_choice", "The field \"tool_choice\" demands the tool %q, which runs at OpenAI: this model has functions and custom tools only.", gateway.ExcerptOf(kind, 40)))
		return nil, nil
	}
}

// chooseServer reads a tool_choice that demands a tool of a server, or any: of the others too, since
// chat completions have no word for those of one server.
func (r *Request) chooseServer(choice object) ([]byte, error) {
	if _, _, err := r.known(choice, "tool_choice"); err != nil {
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
func (r *Request) known(choice object, place string) (name string, all []string, err error) {
	if !isObject(choice) {
		return "", nil, invalid(place, "%s must be an object, not %s.", place, gateway.Excerpt(choice))
	}
	plain, space := wire.Unquote(choice.get("name")), wire.Unquote(choice.get("namespace"))
	if wire.Unquote(choice.get("type")) == "namespace" {
		for name, t := range r.tools.byName {
			if t.space == plain {
				all = append(all, name)
			}
		}
	} else if kind := wire.Unquote(choice.get("type")); kind == "mcp" {
		plain = wire.Unquote(choice.get("server_label"))
		if _, ok := r.tools.byName[serverName(plain)]; ok {
			all = []string{serverName(plain)}
		}
	} else {
		name = plain
		if space != "" {
			name = flat(space, plain)
		}
		if _, ok := r.tools.byName[name]; ok {
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
func (r *Request) allow(choice object) ([]byte, error) {
	mode, list := choice.get("mode"), choice.get("tools")
	if word := wire.Unquote(mode); word != "auto" && word != "required" {
		return nil, invalid("tool_choice.mode", "tool_choice.mode must be \"auto\" or \"required\", not %q.", gateway.ExcerptOf(word, 40))
	}
	if !isArray(list) {
		return nil, invalid("tool_choice.tools", "tool_choice.tools must be an array of tools.")
	}
	r.tools.restricted = true
	allowed := map[string]bool{}
	var err error
	wire.Elements(list, 0, func(n int, v wire.Span) bool {
		one, place := object(v.Of(list)), fmt.Sprintf("tool_choice.tools[%d]", n)
		switch kind := wire.Unquote(one.get("type")); {
		case kind == "function", kind == "custom", kind == "namespace", kind == "mcp" && r.options.Serves:
			var names []string
			_, names, err = r.known(one, place)
			for _, name := range names {
				allowed[name] = true
			}
		default:
			r.warn("tool_dropped", kind)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	for name, t := range r.tools.byName {
		t.barred = !allowed[name]
		r.tools.byName[name] = t
	}
	return mode, nil
}
