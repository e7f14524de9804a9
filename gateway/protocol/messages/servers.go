package messages

import (
	"fmt"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// ownURL is what a request writes for the URL of a server whose tools the gateway runs.
const ownURL = "callgate"

// readServers finds the servers of mcp_servers whose tools the gateway runs, and writes them as
// entries of a chat completion's tools, once it is known which of their tools a toolset chooses. It
// calls no other, so a URL of the client's is refused. A gateway without such servers leaves them out.
func (t *toolbox) readServers(list value) error {
	if list != nil && !isArray(list) {
		return invalid("mcp_servers", "The field \"mcp_servers\" must be an array, not %s.", gateway.Excerpt(list))
	}
	return elements(list, func(i int, v value) error {
		place := fmt.Sprintf("mcp_servers[%d]", i)
		m := fields(v)
		name := text(m["name"])
		switch url := text(m["url"]); {
		case !isObject(v) || name == "":
			return invalid(place+".name", "%s.name is missing: name one of the gateway's tool servers.", place)
		case !t.serves:
			t.remarks.hosted.Add("mcp")
			t.remarks.dropped("mcp_servers")
			return nil
		case url != "" && url != ownURL:
			return invalid(place+".url", "%s.url must be left out or %q: the gateway calls its own tool servers only, not %s.", place, ownURL, gateway.ExcerptOf(url, 80))
		case m["authorization_token"] != nil:
			return invalid(place+".authorization_token", "%s.authorization_token must be left out: the gateway has credentials of its own for its servers.", place)
		case slices.ContainsFunc(t.servers, func(s server) bool { return s.name == name }):
			return invalid(place+".name", "%s.name is %q, which is there twice.", place, gateway.ExcerptOf(name, 80))
		}
		t.remarks.leftover("mcp_servers.", v, knownServer)
		choice := m["tool_configuration"]
		if string(find(choice, "enabled")) == "false" {
			return nil
		}
		allowed := find(choice, "allowed_tools")
		if allowed != nil && !isArray(allowed) {
			return invalid(place+".tool_configuration.allowed_tools", "%s.tool_configuration.allowed_tools must be an array of names.", place)
		}
		t.servers = append(t.servers, server{name, allowed})
		return nil
	})
}

// server is one whose tools the gateway runs.
type server struct {
	name    string
	allowed value // names of its tools; nil for all
}

// toolset reads a choice among the tools of a server.
func (t *toolbox) toolset(place string, m map[string]value) error {
	name := text(m["mcp_server_name"])
	at := slices.IndexFunc(t.servers, func(s server) bool { return s.name == name })
	if at < 0 { // Anthropic runs it, or nobody
		t.remarks.hosted.Add("mcp")
		t.remarks.dropped("tools.mcp_toolset")
		return nil
	}
	var on, off list
	members(m["configs"], func(tool string, v value) {
		if string(find(v, "enabled")) == "false" {
			off.add(wire.AppendQuoted(nil, tool))
		} else {
			on.add(wire.AppendQuoted(nil, tool))
		}
	})
	switch {
	case string(find(m["default_config"], "enabled")) == "false":
		t.servers[at].allowed = on.array()
	case len(off) > 0:
		return invalid(place+".configs", "%s.configs turns tools off, which cannot be done one by one here: set default_config.enabled to false, and turn on those that are wanted.", place)
	}
	return nil
}

// list is the text of an array's elements.
type list []byte

func (l *list) add(v []byte) {
	if len(*l) > 0 {
		*l = append(*l, ',')
	}
	*l = append(*l, v...)
}

func (l *list) array() value { return append(append(value{'['}, *l...), ']') }

// writeServers writes the servers among the tools.
func (t *toolbox) writeServers() {
	for _, s := range t.servers {
		if t.out[len(t.out)-1] != '[' {
			t.out = append(t.out, ',')
		}
		t.out = wire.AppendQuoted(append(t.out, `{"type":"mcp","server_label":`...), s.name)
		if s.allowed != nil {
			t.out = append(append(t.out, `,"allowed_tools":`...), s.allowed...)
		}
		t.out = append(t.out, '}')
	}
}
