package reference

import (
	"cmp"
	"slices"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/repair"
)

// maxWork is how many pairs of runes are compared for likeness in an answer, a tenth
// of a second on a slow machine. Ten thousand titles of ordinary length need a tenth
// of it.
const maxWork = 1 << 25

// Resolver resolves the references of one answer's calls. A nil Resolver has no
// rules. It is used by one goroutine.
type Resolver struct {
	rules        map[string][]*rule // by tool
	sources      map[string][]*source
	conversation *conversation.Conversation
	scanner      *scanner

	loaded bool
	// partial says that not all of the conversation was taken in, so that nothing can be
	// said about what is not found.
	partial bool
	known   map[int]map[string]kinds // by path: the values that results hold there
	amount  int                      // of known
	plain   []plainResult
	work    int
}

// rule is a Rule that was made ready.
type rule struct {
	Rule
	steps  []step
	source *source // nil: the rule is broken, or one too many
}

// source is where candidates come from: a tool and two members. Rules share it.
type source struct {
	tool         string
	match, value int // paths of the scanner
	table        table
}

// New makes a resolver for the calls of an answer to a conversation, of which it reads
// nothing until a call needs it. Of several rules for one argument the first counts.
// Those whose sources, a tool and two members of its results, are not among the first
// 64 leave their arguments unchecked, and so do rules that are not valid. Without
// rules the resolver is nil.
func New(rules []Rule, c *conversation.Conversation) *Resolver {
	if len(rules) == 0 {
		return nil
	}
	r := &Resolver{
		rules: map[string][]*rule{}, sources: map[string][]*source{}, conversation: c, scanner: newScanner(),
		known: map[int]map[string]kinds{}, work: maxWork,
	}
	type place struct{ tool, argument string }
	type origin struct{ tool, match, value string }
	seen, origins := map[place]bool{}, map[origin]*source{}
	for _, declared := range rules {
		if p := (place{declared.Tool, declared.Argument}); seen[p] {
			continue
		} else {
			seen[p] = true
		}
		ready := &rule{Rule: declared}
		if declared.Validate() == nil {
			ready.steps, _ = parseArgument(declared.Argument)
			o := origin{declared.From, declared.Match, declared.Value}
			if origins[o] == nil && len(origins) < maxSources {
				origins[o] = r.source(declared)
			}
			ready.source = origins[o]
		}
		r.rules[declared.Tool] = append(r.rules[declared.Tool], ready)
	}
	return r
}

// source makes the source that a valid rule names.
func (r *Resolver) source(declared Rule) *source {
	match, _ := parseMember(declared.Match)
	value, _ := parseMember(declared.Value)
	s := &source{tool: declared.From, match: r.scanner.path(match), value: r.scanner.path(value)}
	r.known[s.value] = map[string]kinds{}
	r.sources[s.tool] = append(r.sources[s.tool], s)
	return s
}

// Covers says whether a tool has arguments that are references.
func (r *Resolver) Covers(tool string) bool { return r != nil && len(r.rules[tool]) > 0 }

// Resolve resolves the references among a call's arguments. out is args with the
// resolved values in their places and no other byte changed, and done says which they
// are. The problem is about references that fit nothing or several things; its words
// quote earlier results, so it is for the model, and not for logs.
//
// checked is false if a reference could not be checked, and stays as it is: no result
// tells what there is, the arguments are not a JSON object that all parsers read
// alike, the value is no scalar, or there is too much to look at. The caller warns
// then. What is missing or null is no reference.
func (r *Resolver) Resolve(tool, args string) (out string, done []Resolution, problem *repair.Problem, checked bool) {
	if !r.Covers(tool) {
		return args, nil, nil, true
	}
	text := []byte(args)
	root, ok := readArguments(text)
	if !ok {
		return args, nil, nil, false
	}
	p := places{text: text}
	for _, rule := range r.rules[tool] {
		p.find(rule, root, rule.steps, "")
	}
	if len(p.found) == 0 {
		return args, nil, nil, !p.odd
	}
	r.load()
	slices.SortFunc(p.found, func(a, b place) int { return cmp.Compare(a.at.Start, b.at.Start) })
	checked = !p.odd
	var b []byte
	var failed []failing
	at := 0
	for i := range p.found {
		place := &p.found[i]
		switch v := r.decide(place); v.state {
		case unchecked:
			checked = false
		case resolved:
			b = append(append(b, args[at:place.at.Start]...), v.value.json()...)
			at = place.at.End
			done = append(done, Resolution{Tool: tool, Argument: place.path, How: v.how, Ratio: v.ratio})
		case unresolved, ambiguous:
			failed = append(failed, failing{place, v})
		}
	}
	if at > 0 {
		args = string(append(b, args[at:]...))
	}
	return args, done, explain(failed), checked
}
