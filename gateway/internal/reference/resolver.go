package reference

import (
	"cmp"
	"slices"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/repair"
)

// maxWork is how many pairs of runes are compared for likeness in an answer, a tenth
// of a second on a slow machine. Ten thousand titles of thirty letters need a third of
// it if all of them have the same letters.
const maxWork = 1 << 25

// Resolver resolves the references of one answer's calls. A nil Resolver has no
// rules. It is used by one goroutine.
type Resolver struct {
	rules        map[string][]*rule   // by tool
	sources      map[string][]*source // by the tool that they are results of
	origins      map[origin]*source
	conversation *conversation.Conversation
	scanner      *scanner

	opened   bool
	own      queue // the results of tools that rules name; those of others tell no more than which values there are
	others   queue
	answered map[question]outcome // what newer results of such tools are
	amount   int                  // of known values
	plain    []plainResult
	scratch  []byte
	work     int // pairs of runes that may be compared yet
}

// rule is a Rule that was made ready.
type rule struct {
	Rule
	steps  []step
	source *source // nil if the argument is left unchecked
}

// origin is what rules with the same source have in common.
type origin struct{ tool, match, value string }

// source is where candidates come from: a tool and two members. Rules share it.
type source struct {
	match, value int // paths of the scanner
	table        table
	outer        []int // used by take
}

// New makes a resolver for the calls of an answer to a conversation, of which it reads
// nothing until a call needs it. Of several rules for one argument the first counts.
// An argument is left unchecked if its rule is not valid, is not among the first 100 of
// its tool, or has a source, a tool and two members of its results, that is not among
// the first 64. Without rules the resolver is nil.
func New(rules []Rule, c *conversation.Conversation) *Resolver {
	if len(rules) == 0 {
		return nil
	}
	r := &Resolver{
		rules: map[string][]*rule{}, sources: map[string][]*source{}, origins: map[origin]*source{},
		conversation: c, scanner: newScanner(), answered: map[question]outcome{}, work: maxWork,
		own: queue{known: map[int]map[string]kinds{}}, others: queue{known: map[int]map[string]kinds{}},
	}
	type place struct{ tool, argument string }
	seen := map[place]bool{}
	for _, declared := range rules {
		p := place{declared.Tool, declared.Argument}
		if seen[p] || len(r.rules[declared.Tool]) > maxRules {
			continue
		}
		seen[p] = true
		ready := &rule{Rule: declared}
		if declared.Validate() == nil && len(r.rules[declared.Tool]) < maxRules {
			ready.steps, _ = parseArgument(declared.Argument)
			ready.source = r.source(declared)
		}
		r.rules[declared.Tool] = append(r.rules[declared.Tool], ready)
	}
	return r
}

// source returns the source that a valid rule names, or nil if there are too many.
func (r *Resolver) source(declared Rule) *source {
	o := origin{declared.From, declared.Match, declared.Value}
	if s := r.origins[o]; s != nil || len(r.origins) == maxSources {
		return s
	}
	match, _ := parseMember(declared.Match)
	value, _ := parseMember(declared.Value)
	s := &source{match: r.scanner.path(match), value: r.scanner.path(value)}
	r.origins[o] = s
	r.own.known[s.value], r.others.known[s.value] = map[string]kinds{}, map[string]kinds{}
	r.sources[o.tool] = append(r.sources[o.tool], s)
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
