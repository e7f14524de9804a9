// Package reference resolves arguments that refer to something in an earlier result
// of a tool. Asked to complete the task "Buy milk", a model calls complete_task with
// {"id":"Buy Milk"}, although the id is 17, as a result of list_tasks says. An
// argument that is declared a reference is compared with such results: a value that
// they hold stays, a text that names exactly one thing in them is replaced by that
// thing's value, and all else is a problem that lists what there is.
//
// Results hold what anyone wrote, and a reference decides what is deleted or whom is
// paid. So only what the tool itself lists counts: no JSON in a note, no comment that is
// called as a task is, and nothing that a later result of the same call lists no more.
//
// Nothing is guessed. Where several things fit, or not all of the conversation could
// be looked at, the argument stays as it is and the caller is told. Time and memory are
// linear in the conversation and bounded beyond that.
package reference

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/sdk/abi"
)

// The classes of this package's problems.
const (
	// Unresolved is an argument that nothing in the results fits.
	Unresolved = "unresolved_reference"
	// Ambiguous is an argument that several things in the results fit.
	Ambiguous = "ambiguous_reference"
)

const (
	// DefaultRatio is the least likeness of two texts that a rule asks for if it does not
	// say. It is the cutoff of Python's difflib.get_close_matches.
	DefaultRatio = 0.6
	// leastRatio is the lowest that a rule may ask for. Below, any two texts are alike.
	leastRatio = 0.1
)

const (
	// maxDepth is how deep JSON may nest that is looked into.
	maxDepth = conversation.MaxDepth
	// maxSteps is how long a path may be.
	maxSteps = 16
	// maxRules is how many arguments of one tool may be references.
	maxRules = 100
	// maxSources is how many different sources the rules of a conversation may have.
	maxSources = 64
	// maxCandidates is how many things of one source are compared.
	maxCandidates = 10_000
	// maxKnown is how many values of all results are held.
	maxKnown = 100_000
	// maxPlaces is how many references of one call are resolved.
	maxPlaces = 1_000
)

// Rule declares an argument of a tool a reference. It comes from a tool's schema, as
// [FromSchema] reads it, or from the operator.
type Rule struct {
	// Tool is the tool that has the argument.
	Tool string
	// Argument is its place: names of properties with dots between them, and [] for the
	// elements of an array, such as items[].id.
	Argument string
	// From is the tool whose results tell what there is.
	From string
	// Match and Value are members of an object in such a result: what the object is
	// called, and what the argument wants. Dots lead into objects, such as task.title.
	Match, Value string
	// MinRatio is how alike two texts must be, 0.1 to 1. 0 means DefaultRatio.
	MinRatio float64
	// Types are those that the tool's schema allows the argument to have; 0 means any.
	// A value is written as one of them where it can be: 17 as "17". FromSchema sets
	// them, and so does [Rule.Typed].
	Types abi.Types
}

// Validate says what is wrong with a rule, or returns nil. Its readers call it where
// a rule is declared.
func (r Rule) Validate() error {
	switch {
	case r.Tool == "":
		return errors.New("the tool that has the argument is not named")
	case r.From == "":
		return errors.New("the tool whose results are looked at is not named")
	case r.MinRatio != 0 && !(r.MinRatio >= leastRatio && r.MinRatio <= 1):
		return fmt.Errorf("the ratio %v is not between %v and 1", r.MinRatio, leastRatio)
	}
	if _, err := parseArgument(r.Argument); err != nil {
		return fmt.Errorf("the argument %q: %w", cut(r.Argument), err)
	}
	if _, err := parseMember(r.Match); err != nil {
		return fmt.Errorf("the member to match %q: %w", cut(r.Match), err)
	}
	if _, err := parseMember(r.Value); err != nil {
		return fmt.Errorf("the member with the value %q: %w", cut(r.Value), err)
	}
	return nil
}

func (r Rule) ratio() float64 {
	if r.MinRatio == 0 {
		return DefaultRatio
	}
	return r.MinRatio
}

// How says how a reference was resolved.
type How string

// The ways, in the order in which they are tried. The first that finds anything
// decides.
const (
	Exact  How = "exact"  // the same text, or the value as another type: "17" for 17
	Folded How = "folded" // the same but for case, white space and composed letters
	Fuzzy  How = "fuzzy"  // a text that is much alike, in its letters and its words
)

// Resolution is one argument that was replaced.
type Resolution struct {
	Tool string
	// Argument is its place, such as id or items[2].id.
	Argument string
	How      How
	// Ratio is how alike the texts are, 1 unless How is Fuzzy.
	Ratio float64
}

// step is a part of an argument's path: a property, or all elements of an array.
type step struct {
	name    string
	element bool
}

var (
	errNoPath   = errors.New("a name is empty")
	errLongPath = fmt.Errorf("the path has more than %d steps", maxSteps)
	errBrackets = errors.New("brackets may only stand as [] behind a name")
)

func parseArgument(path string) ([]step, error) {
	var steps []step
	for part := range strings.SplitSeq(path, ".") {
		name := strings.TrimRight(part, "[]")
		elements := part[len(name):]
		switch {
		case name == "":
			return nil, errNoPath
		case strings.ContainsAny(name, "[]") || strings.ReplaceAll(elements, "[]", "") != "":
			return nil, errBrackets
		}
		steps = append(steps, step{name: name})
		for range len(elements) / len("[]") {
			steps = append(steps, step{element: true})
		}
		if len(steps) > maxSteps {
			return nil, errLongPath
		}
	}
	return steps, nil
}

func parseMember(path string) ([]string, error) {
	names := strings.SplitN(path, ".", maxSteps+1)
	if len(names) > maxSteps {
		return nil, errLongPath
	}
	if slices.Contains(names, "") {
		return nil, errNoPath
	}
	return names, nil
}
