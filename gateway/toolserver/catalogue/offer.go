package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/toolserver"
)

// tool is a tool that is offered, or would be, with what else is known of it.
type tool struct {
	toolserver.Tool
	definition toolserver.Definition
	hash       string   // of the definition; "" if it has none, being no JSON
	warnings   []string // what is suspicious about its words
	why        string   // it cannot be offered; "" if it can
}

// maxName is how long a name of a tool may be, by the protocol.
const maxName = 128

// rebuild makes the view of what all servers have said last.
func (c *Catalogue) rebuild() {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &view{byServer: map[string][]toolserver.Tool{}, byAlias: map[string]*tool{}, missing: map[string][]toolserver.Missing{}, changed: map[string]toolserver.Missing{}}
	for _, name := range c.names {
		c.servers[name].offer(v, c.locks.of(name))
	}
	c.view.Store(v)
}

// offer adds to v what the server has.
func (s *server) offer(v *view, pins *pinned) {
	listing, problem := s.known()
	miss := func(tool, why string) {
		v.missing[s.name] = append(v.missing[s.name], toolserver.Missing{Server: s.name, Tool: toolserver.Words(tool), Why: why})
	}
	switch {
	case problem != nil:
		miss("", problem.Message)
		return
	case listing == nil:
		miss("", fmt.Sprintf("Tool server %q has not answered yet.", s.name))
		return
	}
	for _, m := range listing.Refused {
		miss(m.Tool, "It is left out: "+m.Why+".")
	}
	seen := map[string]int{}
	for _, d := range listing.Tools {
		seen[d.Name]++
	}
	for _, t := range s.made(listing) {
		why, held := s.refuses(v, t, seen[t.Name], pins)
		switch {
		case held:
			v.changed[t.Alias] = toolserver.Missing{Server: s.name, Tool: t.Name, Why: why}
			miss(t.Name, why)
		case why != "":
			miss(t.Name, why)
		default:
			v.byAlias[t.Alias] = t
			v.byServer[s.name] = append(v.byServer[s.name], t.Tool)
		}
	}
	slices.SortFunc(v.byServer[s.name], byAlias)
	for _, name := range s.o.Tools {
		if !route.IsPattern(name) && seen[name] == 0 {
			miss(name, fmt.Sprintf("Tool server %q has no such tool.", s.name))
		}
	}
	for _, name := range pins.gone(seen) {
		if s.offered(name) && !slices.Contains(s.o.Tools, name) {
			miss(name, fmt.Sprintf("Tool server %q has had it when it was pinned, and has it no more.", s.name))
		}
	}
	slices.SortStableFunc(v.missing[s.name], func(a, b toolserver.Missing) int { return strings.Compare(a.Tool, b.Tool) })
	v.missing[s.name] = slices.Compact(v.missing[s.name])
}

// refuses says why a tool is not offered, "" if it is; held, that it is in quarantine. Count is how
// often the server lists its name.
func (s *server) refuses(v *view, t *tool, count int, pins *pinned) (why string, held bool) {
	first, taken := v.byAlias[t.Alias]
	switch {
	case count > 1:
		return "It is left out: the server lists more than one tool of that name.", false
	case t.why != "":
		return t.why, false
	case taken:
		return fmt.Sprintf("It is left out: for models its name is that of %s.", toolserver.Words(first.Name)), false
	case s.o.Own:
		return "", false
	}
	why = pins.differs(t)
	return why, why != ""
}

// ordered are definitions by name, those first whose names need no change for models: of two
// that would have one name, it is theirs.
func ordered(in []toolserver.Definition) []toolserver.Definition {
	out := slices.Clone(in)
	plain := func(name string) int {
		if strings.HasSuffix(toolserver.Alias("", name), "__"+name) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b toolserver.Definition) int {
		if d := plain(a.Name) - plain(b.Name); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

func (s *server) offered(name string) bool { return s.o.Tools == nil || matches(s.o.Tools, name) }

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return route.NewGlob(p).Match(name) })
}

// made are the tools of a listing that are to be offered. They are made once.
func (s *server) made(listing *toolserver.Listing) []*tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from == listing {
		return s.tools
	}
	s.from, s.tools = listing, nil
	for _, d := range ordered(listing.Tools) {
		if s.offered(d.Name) {
			s.tools = append(s.tools, s.make(d))
		}
	}
	return s.tools
}

// make makes of a definition what is offered, or says why it cannot be.
func (s *server) make(d toolserver.Definition) *tool {
	t := &tool{definition: d}
	t.hash, _ = hash(d)
	t.Server, t.Name, t.Alias = s.name, d.Name, toolserver.Alias(s.name, d.Name)
	if d.Name == "" || len(d.Name) > maxName {
		t.why = "It is left out: the name of a tool has 1 to 128 bytes."
		return t
	}
	parameters, why := schema(d.Parameters, true)
	if why != "" {
		t.why = "It is left out: the schema of its arguments " + why + "."
		return t
	}
	output, why := schema(d.Output, false)
	if why != "" {
		t.why = "It is left out: the schema of its result " + why + "."
		return t
	}
	description := d.Description
	if description == "" {
		description = d.Title
	}
	if own, ok := s.o.Descriptions[d.Name]; ok {
		description = own
	} else {
		description, t.warnings = cleanDescription(description)
		t.warnings = append(t.warnings, lintSchema(parameters)...)
	}
	t.Tool = toolserver.Tool{MCP: !s.o.Own, Server: t.Server, Name: t.Name, Alias: t.Alias, Description: description, Parameters: parameters, Output: output,
		Approval: matches(s.o.Approval, d.Name), Fallback: s.o.Fallback[d.Name], Timeout: s.o.Timeout}
	s.judge(&t.Tool, d)
	return t
}

// judge says what a call does: by the operator's word, then by the server's hints where it is
// trusted.
func (s *server) judge(t *toolserver.Tool, d toolserver.Definition) {
	var hints toolserver.Hints
	if s.o.Trusted {
		hints = d.Hints()
	}
	is := func(hint *bool) bool { return hint != nil && *hint }
	switch {
	case matches(s.o.Writes, d.Name):
		t.Effect = toolserver.Writes
	case matches(s.o.Reads, d.Name):
		t.Effect = toolserver.Reads
	case is(hints.ReadOnly):
		t.Effect = toolserver.Reads
	case hints.ReadOnly != nil || hints.Destructive != nil:
		t.Effect = toolserver.Writes
	}
	t.Idempotent = matches(s.o.Idempotent, d.Name) || is(hints.Idempotent) || is(hints.ReadOnly)
	t.Untrusted = true
	if hints.OpenWorld != nil && !*hints.OpenWorld {
		t.Untrusted = false
	}
	if s.o.Untrusted != nil {
		t.Untrusted = *s.o.Untrusted
	}
}
