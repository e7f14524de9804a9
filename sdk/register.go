package sdk

import (
	"strconv"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
)

// module is this plugin, as init functions have described it.
var module = guest{version: "0.0.0"}

// Module names the plugin and gives its version, which parsers without one of
// their own take over. Call it in an init function. A plugin that does not has the name of
// its first parser, and version 0.0.0.
func Module(name, version string) { module.name, module.version = name, version }

// Register adds parsers to the plugin; call it in an init function. It panics on
// a spec without a name, without a New or with a name that is already taken, which
// the gateway reports when it loads the plugin.
func Register(specs ...Spec) {
	for _, s := range specs {
		module.register(s)
	}
}

// Manifest is what the plugin tells the gateway of itself: JSON as abi.Manifest
// describes it. It is exported for tests; the gateway calls the export.
func Manifest() []byte { return module.manifest() }

func (g *guest) register(s Spec) {
	if s.Name == "" {
		panic("sdk.Register: spec " + strconv.Itoa(len(g.specs)) + " has no Name")
	}
	if s.New == nil {
		panic("sdk.Register: parser " + s.Name + " has no New")
	}
	for _, other := range g.specs {
		if other.Name == s.Name {
			panic("sdk.Register: parser " + s.Name + " is registered twice")
		}
	}
	g.specs = append(g.specs, s)
}

// manifest writes the JSON by hand: a JSON package would double a plugin's size.
func (g *guest) manifest() []byte {
	name := g.name
	if name == "" && len(g.specs) > 0 {
		name = g.specs[0].Name
	}
	b := append([]byte(`{"abi":`), strconv.Itoa(abi.Version)...)
	b = appendMember(b, "name", name)
	b = appendMember(b, "version", g.version)
	b = append(b, `,"parsers":[`...)
	for i, s := range g.specs {
		if i > 0 {
			b = append(b, ',')
		}
		if s.Version == "" {
			s.Version = g.version
		}
		b = appendParser(b, s.Parser)
	}
	return append(b, "]}"...)
}

func appendParser(b []byte, p abi.Parser) []byte {
	b = append(b, `{"name":`...)
	b = relaxed.AppendString(b, []byte(p.Name))
	b = appendMember(b, "version", p.Version)
	b = append(b, `,"priority":`...)
	b = strconv.AppendInt(b, int64(p.Priority), 10)
	b = appendList(b, "aliases", p.Aliases)
	b = appendList(b, "formats", p.Formats)
	if p.Example != "" {
		b = appendMember(b, "example", p.Example)
	}
	b = appendList(b, "triggers", p.Triggers)
	b = appendList(b, "starts", p.Starts)
	b = appendList(b, "models", p.Models)
	if p.Heuristic {
		b = append(b, `,"heuristic":true`...)
	}
	if p.Framing {
		b = append(b, `,"framing":true`...)
	}
	if p.Streams {
		b = append(b, `,"streams":true`...)
	}
	return append(b, '}')
}

func appendMember(b []byte, key, value string) []byte {
	b = append(b, `,"`+key+`":`...)
	return relaxed.AppendString(b, []byte(value))
}

func appendList(b []byte, key string, values []string) []byte {
	if len(values) == 0 {
		return b
	}
	b = append(b, `,"`+key+`":[`...)
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = relaxed.AppendString(b, []byte(v))
	}
	return append(b, ']')
}
