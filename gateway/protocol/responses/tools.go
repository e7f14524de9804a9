package responses

import (
	"fmt"
	"strconv"

	"github.com/callgate/callgate/gateway"
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

// known is the name by which the model knows a tool. OpenAI gives a tool that its tool_search has found
// its own name as the namespace too.
func (s *toolset) known(space, name string) string {
	if space == "" {
		return name
	}
	full := flat(space, name)
	if _, has := s.byName[full]; !has && space == name {
		return name
	}
	return full
}

// allowed is the name by which the model knows a tool; ok is false for one that the client bars.
func (s *toolset) allowed(space, name string) (known string, ok bool) {
	known = s.known(space, name)
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

// toolReader reads the tools that a request offers.
type toolReader struct {
	set     *toolset // that they are added to
	serves  bool     // the gateway runs tools of servers of its own
	remarks *remarks
}

// read adds a list of tools.
func (r *toolReader) read(list []byte, place string) (err error) {
	wire.Elements(list, 0, func(n int, v wire.Span) bool {
		err = r.readOne(object(v.Of(list)), place+"["+strconv.Itoa(n)+"]")
		return err == nil
	})
	return err
}

func (r *toolReader) readOne(t object, place string) error {
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
		if !r.serves {
			r.remarks.dropTool(kind)
			break
		}
		err = r.addServer(t, place)
	default:
		r.remarks.dropTool(kind)
	}
	if err != nil {
		return err
	}
	r.set.echo = append(r.set.echo, echo)
	return nil
}

// addNamespace adds the tools of a namespace, under names that say it.
func (r *toolReader) addNamespace(t object, place string) error {
	space, list := wire.Unquote(t.get("name")), t.get("tools")
	switch {
	case space == "":
		return invalid(place+".name", "%s.name is missing: name the namespace.", place)
	case !isArray(list):
		return invalid(place+".tools", "%s.tools must be an array of tools.", place)
	}
	r.remarks.leftover("tools.", t, knownNamespace)
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
func (r *toolReader) addServer(t object, place string) error {
	label := wire.Unquote(t.get("server_label"))
	name := serverName(label)
	switch _, twice := r.set.byName[name]; {
	case label == "":
		return invalid(place+".server_label", "%s.server_label is missing: name one of the gateway's tool servers.", place)
	case twice:
		return invalid(place+".server_label", "%s.server_label is %q, which is there twice.", place, gateway.ExcerptOf(label, maxName))
	case len(r.set.byName) >= maxTools:
		return invalid("tools", "There are more than %d tools.", maxTools)
	}
	r.set.note(name, tool{name: label})
	r.set.entries, r.set.servers = append(r.set.entries, entry{name, t}), true
	return nil
}

// serverName stands for a server among the names of tools, of which none has a space.
func serverName(label string) string { return "mcp " + label }

// name notes the name of a tool, given as JSON, and returns that for the model, likewise.
func (r *toolReader) name(t object, given []byte, space string, custom bool, place string) (name string, quoted []byte, err error) {
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
	if _, twice := r.set.byName[name]; twice {
		return "", nil, invalid(place+".name", "%s.name is %q, which another tool is called too.", place, gateway.ExcerptOf(name, maxName))
	}
	if len(r.set.byName) >= maxTools {
		return "", nil, invalid("tools", "There are more than %d tools.", maxTools)
	}
	r.set.note(name, tool{name: plain, space: space, custom: custom})
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
func (r *toolReader) addFunction(t object, space, about, place string) (missing string, err error) {
	r.remarks.leftover("tools.", t, knownFunction)
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
	r.set.entries = append(r.set.entries, entry{name, append(b, "}}"...)})
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
func (r *toolReader) addCustom(t object, space, about, place string) error {
	r.remarks.leftover("tools.", t, knownCustom)
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
		r.remarks.warn("grammar_not_enforced", name)
		how = fmt.Sprintf("%s It must match this grammar (%s):\n%s", how, gateway.ExcerptOf(syntax, 20), definition)
	default:
		return invalid(place+".format.type", "%s.format.type must be \"text\" or \"grammar\", not %q.", place, gateway.ExcerptOf(kind, 40))
	}
	b := append([]byte(`{"type":"function","function":{"name":`), quoted...)
	b = append(append(b, `,"description":`...), joined(t.get("description"), how+about)...)
	b = append(b, `,"parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}}}`...)
	r.set.entries = append(r.set.entries, entry{name, b})
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
