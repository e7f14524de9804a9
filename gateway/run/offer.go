package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/disarm"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// switchHeader is where clients turn off the tools that a route attaches.
const switchHeader = "x-callgate-tools"

// offer is the tools of one request: what the operator has, the key may use and the request
// wants.
type offer struct {
	list    []toolserver.Tool // sorted by alias
	byAlias map[string]*toolserver.Tool
	own     map[string]bool // names of the client's
	most    int             // calls that the request allows, less those that were made; -1 is any number
	all     []abi.Tool      // what parsers and repairs know of them, the client's too
	named   []string        // servers that the client has named, in its order
	ask     map[string]bool // aliases that the client wants to agree to
	missing []toolserver.Missing
	kept    [][]byte // the client's tools as they came
}

// entry is an entry of the client's tools that names a server.
type entry struct {
	Type            string          `json:"type"`
	Label           string          `json:"server_label"`
	URL             string          `json:"server_url"`
	Allowed         json.RawMessage `json:"allowed_tools"`
	RequireApproval json.RawMessage `json:"require_approval"`
	Description     string          `json:"server_description"` // the operator's counts
}

// filter is a choice among the tools of a server.
type filter struct {
	Names    []string `json:"tool_names"`
	ReadOnly *bool    `json:"read_only"`
}

// offer reads what a request wants; nil if it has none of our tools.
func (r *Runner) offer(req *gateway.Request, policy Policy) (*offer, error) {
	o := &offer{byAlias: map[string]*toolserver.Tool{}, own: map[string]bool{}, ask: map[string]bool{}}
	entries, err := o.read(req.Reading.ToolsJSON())
	if err != nil {
		return nil, err
	}
	attach, err := attached(req, policy)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 && len(attach) == 0 {
		return nil, nil //nolint:nilnil // nothing to run
	}
	if err := o.readMost(req.Body.Bytes()); err != nil {
		return nil, err
	}
	for i := range entries {
		if !slices.Contains(r.o.Servers, entries[i].Label) {
			return nil, r.unknown(entries[i].Label)
		}
	}
	if err := o.add(r, req.From.Client, entries, attach); err != nil {
		return nil, err
	}
	for alias := range o.byAlias {
		if o.own[alias] {
			return nil, invalid("tools", "The field \"tools\" has a function %q, which is also the name of a tool that the gateway runs: give yours another name.", alias)
		}
	}
	if at := wire.Find(req.Body.Bytes(), wire.Span{End: len(req.Body.Bytes())}, "n"); !at.IsNull(req.Body.Bytes()) && string(at.Of(req.Body.Bytes())) != "1" {
		return nil, invalid("n", "The field \"n\" must be 1 where the gateway runs tools, not %s.", gateway.Excerpt(at.Of(req.Body.Bytes())))
	}
	return o, nil
}

// attached are the servers whose tools a request gets without asking for them.
func attached(req *gateway.Request, policy Policy) ([]string, error) {
	switch word := req.Wishes.Tools; word {
	case "", "on":
	case "off":
		return nil, nil
	default:
		return nil, invalid(switchHeader, "The header %s must be on or off, not %.40q.", switchHeader, word)
	}
	if req.Source != nil && req.Source.Closed {
		return nil, nil
	}
	return policy.Attach, nil
}

// mostCalls is the field that bounds how many calls the gateway makes for a request: OpenAI's, of the
// Responses API. It does not go upstream.
const mostCalls = "max_tool_calls"

// noneLeft is what the model is told of a call beyond it.
const noneLeft = "No further call is made: the request allows as many as there were (max_tool_calls)."

// readMost reads it.
func (o *offer) readMost(body []byte) error {
	o.most = -1
	at := wire.Find(body, wire.Span{End: len(body)}, mostCalls)
	if at.IsNull(body) {
		return nil
	}
	n, err := strconv.Atoi(string(at.Of(body)))
	if err != nil || n < 0 {
		return invalid(mostCalls, "The field %q must be a whole number, not %s.", mostCalls, gateway.Excerpt(at.Of(body)))
	}
	o.most = n
	return nil
}

// spend reports whether the request allows one more call.
func (o *offer) spend() bool {
	if o.most > 0 {
		o.most--
		return true
	}
	return o.most < 0
}

// read reads the client's list: its own tools, and the servers that it names.
func (o *offer) read(list []byte) (entries []entry, err error) {
	seen := map[string]bool{}
	wire.Elements(list, 0, func(i int, at wire.Span) bool {
		tool := at.Of(list)
		if len(tool) == 0 || tool[0] != '{' {
			o.kept = append(o.kept, tool)
			return true
		}
		if wire.Unquote(wire.Find(list, at, "type").Of(list)) != "mcp" {
			o.kept = append(o.kept, tool)
			o.own[nameOf(tool)] = true
			return true
		}
		var e entry
		if e, err = readEntry(tool, i); err != nil {
			return false
		}
		if seen[e.Label] {
			err = invalid(fmt.Sprintf("tools[%d].server_label", i), "The field \"tools\" names the server %q twice: name it once.", e.Label)
			return false
		}
		seen[e.Label] = true
		entries, o.named = append(entries, e), append(o.named, e.Label)
		return true
	})
	return entries, err
}

// nameOf is the name of a client's own tool, "" for one without.
func nameOf(tool []byte) string {
	root := wire.Span{End: len(tool)}
	for _, kind := range [...]string{"function", "custom"} {
		if f := wire.Find(tool, root, kind); !f.IsNull(tool) && tool[f.Start] == '{' {
			return wire.Unquote(wire.Find(tool, f, "name").Of(tool))
		}
	}
	return wire.Unquote(wire.Find(tool, root, "name").Of(tool))
}

// urlOfOurs is what a client may write where its protocol demands the URL of a server.
const urlOfOurs = "callgate"

func readEntry(tool []byte, i int) (e entry, err error) {
	place := func(member string) string { return fmt.Sprintf("tools[%d].%s", i, member) }
	d := json.NewDecoder(bytes.NewReader(tool))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, invalid(fmt.Sprintf("tools[%d]", i), "The tool server in tools[%d] cannot be read: it has server_label, allowed_tools and require_approval, and no credentials, which the gateway has its own of (%s).", i, plainError(err))
	}
	switch {
	case e.Label == "":
		return e, invalid(place("server_label"), "The field %s is missing: name one of the gateway's tool servers.", place("server_label"))
	case e.URL != "" && e.URL != urlOfOurs:
		return e, invalid(place("server_url"), "The field %s must be left out or %q: the gateway calls its own tool servers only, not %s.", place("server_url"), urlOfOurs, gateway.ExcerptOf(e.URL, 80))
	}
	return e, nil
}

// plainError is what a decoder says, without the name of the program's own type.
func plainError(err error) string {
	return gateway.ExcerptOf(strings.TrimPrefix(err.Error(), "json: "), 120)
}

func invalid(param, format string, args ...any) *gateway.Error {
	return &gateway.Error{Kind: gateway.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

func (r *Runner) unknown(label string) *gateway.Error {
	message := fmt.Sprintf("There is no tool server %q here.", gateway.ExcerptOf(label, 80))
	if near := gateway.Near(label, r.o.Servers); len(near) > 0 {
		message += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	return &gateway.Error{Kind: gateway.Invalid, Param: "tools", Code: "unknown_tool_server", Message: message}
}

// add collects the tools of the servers that are named and of those that are attached.
func (o *offer) add(r *Runner, client *gateway.Client, entries []entry, attach []string) error {
	servers := slices.Clone(o.named)
	for _, s := range attach {
		if !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	found, missing := r.o.Catalogue.Tools(servers)
	o.missing = append(o.missing, missing...)
	byServer := map[string][]toolserver.Tool{}
	for _, t := range found {
		byServer[t.Server] = append(byServer[t.Server], t)
	}
	for i := range entries {
		chosen, err := o.choose(&entries[i], byServer[entries[i].Label])
		if err != nil {
			return err
		}
		byServer[entries[i].Label] = chosen
	}
	for _, s := range servers {
		denied := 0
		for _, t := range byServer[s] {
			if !client.MayCall(t.Alias) {
				denied++
				continue
			}
			o.list = append(o.list, t)
		}
		if denied > 0 && slices.Contains(o.named, s) {
			o.missing = append(o.missing, toolserver.Missing{Server: s, Why: fmt.Sprintf("this key may not use %d of its tools", denied)})
		}
	}
	slices.SortFunc(o.list, func(a, b toolserver.Tool) int { return strings.Compare(a.Alias, b.Alias) })
	for i := range o.list {
		o.byAlias[o.list[i].Alias] = &o.list[i]
	}
	return nil
}

// choose is what an entry wants of a server's tools.
func (o *offer) choose(e *entry, all []toolserver.Tool) (chosen []toolserver.Tool, err error) {
	f, err := readFilter(e.Allowed, "allowed_tools")
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if f.has(&t) {
			chosen = append(chosen, t)
		}
	}
	if f != nil {
		for _, name := range f.Names {
			if !slices.ContainsFunc(all, func(t toolserver.Tool) bool { return t.Name == name || t.Alias == name }) {
				o.missing = append(o.missing, toolserver.Missing{Server: e.Label, Tool: name, Why: "there is no such tool here, or it cannot be offered now"})
			}
		}
	}
	always, err := readApproval(e.RequireApproval)
	if err != nil {
		return nil, err
	}
	for _, t := range chosen {
		if always(&t) {
			o.ask[t.Alias] = true
		}
	}
	return chosen, nil
}

// has reports whether a tool is chosen; nil chooses all.
func (f *filter) has(t *toolserver.Tool) bool {
	if f == nil {
		return true
	}
	if f.ReadOnly != nil && *f.ReadOnly != (t.Effect == toolserver.Reads) {
		return false
	}
	return f.Names == nil || slices.Contains(f.Names, t.Name) || slices.Contains(f.Names, t.Alias)
}

func readFilter(raw json.RawMessage, field string) (*filter, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil //nolint:nilnil // all
	}
	f := &filter{}
	if raw[0] == '[' {
		f.Names = []string{}
		if json.Unmarshal(raw, &f.Names) == nil {
			return f, nil
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if raw[0] != '{' || d.Decode(f) != nil {
		return nil, invalid("tools", "The field %q of a tool server must be a list of names, or an object with tool_names and read_only.", field)
	}
	return f, nil
}

// readApproval says which tools a client wants to agree to. What the operator wants is not
// changed by it.
func readApproval(raw json.RawMessage) (always func(*toolserver.Tool) bool, err error) {
	word := wire.Unquote(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null" || word == "never":
		return func(*toolserver.Tool) bool { return false }, nil
	case word == "always":
		return func(*toolserver.Tool) bool { return true }, nil
	}
	var of struct {
		Always json.RawMessage `json:"always"`
		Never  json.RawMessage `json:"never"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if raw[0] != '{' || d.Decode(&of) != nil {
		return nil, invalid("tools", `The field "require_approval" of a tool server must be "always", "never", or an object with one or both of them.`)
	}
	yes, err := readFilter(of.Always, "require_approval.always")
	if err != nil {
		return nil, err
	}
	no, err := readFilter(of.Never, "require_approval.never")
	if err != nil {
		return nil, err
	}
	return func(t *toolserver.Tool) bool {
		if yes != nil {
			return yes.has(t)
		}
		return no != nil && !no.has(t) // all but those
	}, nil
}

// edits are those that offer the tools to the model.
func (o *offer) edits(req *gateway.Request, rules *disarm.Rules) []wire.Edit {
	if len(o.kept)+len(o.list) == 0 {
		return wire.Remove(req.Body.Bytes(), "tools", "tool_choice", "parallel_tool_calls", mostCalls)
	}
	list := []byte{'['}
	add := func(tool []byte) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, tool...)
	}
	for _, tool := range o.kept {
		add(tool)
	}
	for i := range o.list {
		add(function(&o.list[i], rules))
	}
	list = append(list, ']')
	o.all, _ = tools.Read(list)
	return append(wire.Remove(req.Body.Bytes(), mostCalls), req.Body.Set(req.Body.Places().Tools, "tools", string(list)))
}

// function is a tool as a model is offered it.
func function(t *toolserver.Tool, rules *disarm.Rules) []byte {
	b := wire.AppendQuoted([]byte(`{"type":"function","function":{"name":`), t.Alias)
	if t.Description != "" {
		b = wire.AppendQuoted(append(b, `,"description":`...), rules.Text(t.Description))
	}
	b = append(b, `,"parameters":`...)
	if len(t.Parameters) == 0 {
		return append(b, `{"type":"object","properties":{}}}}`...)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, t.Parameters) != nil {
		return append(b, `{"type":"object"}}}`...)
	}
	return append(append(b, compact.Bytes()...), `}}`...)
}

// find is the tool of an alias, offered or not any more.
func (o *offer) find(alias string) *toolserver.Tool { return o.byAlias[alias] }

// names are all names that a model may call.
func (o *offer) names() []string {
	return append(slices.Sorted(maps.Keys(o.own)), slices.Sorted(maps.Keys(o.byAlias))...)
}

// warnings say what is missing.
func (o *offer) warnings() (list []string) {
	for _, m := range o.missing {
		w := "tools_missing:" + m.Server
		if m.Tool != "" {
			w += "/" + m.Tool
		}
		list = append(list, w)
	}
	return list
}
