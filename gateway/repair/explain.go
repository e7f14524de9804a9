package repair

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	// mostIssues is how many things a message names.
	mostIssues = 5
	// mostErrors is how many of the library's errors are read.
	mostErrors = 10_000
)

// explainer puts the library's errors into words.
type explainer struct {
	known map[string]*jsonschema.Schema // by location
	value any                           // the arguments
	read  int                           // errors
	cycle bool                          // the schema refers to itself in a circle
	whole bool                          // a member that is missing is the place of the problem, not the object
}

// issue is one thing that is wrong with the arguments.
type issue struct {
	path  string
	what  string
	hint  string
	types []string // the allowed types, if it is of none of them
	// whole says that the value at path is of another form altogether, and value that
	// it is none of those that are allowed. Both tell forms apart.
	whole, value bool
}

// problem explains why the arguments do not fit. checked is false if that is not
// their fault.
func (x *explainer) problem(err error) (problem *Problem, checked bool) {
	var top *jsonschema.ValidationError
	if !errors.As(err, &top) {
		return nil, false
	}
	issues := x.issues(top)
	if x.cycle || len(issues) == 0 {
		return nil, false
	}
	slices.SortFunc(issues, func(a, b issue) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.what, b.what))
	})
	issues = slices.CompactFunc(issues, func(a, b issue) bool { return a.path == b.path && a.what == b.what })
	p := &Problem{Class: SchemaMismatch, Path: issues[0].path, Hint: hintSchema}
	var parts []string
	for _, i := range issues[:min(len(issues), mostIssues)] {
		part := i.what + i.hint
		if i.path != "" {
			part = i.path + ": " + part
		}
		parts = append(parts, part)
	}
	if more := len(issues) - mostIssues; more > 0 {
		parts = append(parts, "and "+strconv.Itoa(more)+" more")
	}
	p.Message = misfit + strings.Join(parts, "; ") + "."
	return p, true
}

// issues are those that an error is about.
func (x *explainer) issues(e *jsonschema.ValidationError) []issue {
	if x.read++; x.read > mostErrors {
		return nil
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return x.forms(e)
	case *kind.OneOf:
		if k.Subschemas == nil {
			return x.forms(e)
		}
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		var all []issue
		for _, cause := range e.Causes {
			all = append(all, x.issues(cause)...)
		}
		return all
	case *kind.RefCycle:
		x.cycle = true
	}
	return []issue{x.issue(e)}
}

// forms explains that a value has none of several forms. If it was clearly meant to
// have one of them, only that one matters.
func (x *explainer) forms(e *jsonschema.ValidationError) []issue {
	path := x.path(e.InstanceLocation)
	var meant []issue
	var types []string
	likely, typed := 0, true
	for _, cause := range e.Causes {
		form := x.issues(cause)
		other := func(i issue) bool { return i.value || i.whole && i.path == path }
		if len(form) > 0 && !slices.ContainsFunc(form, other) {
			likely++
			meant = form
		}
		if len(form) != 1 || form[0].types == nil || form[0].path != path {
			typed = false
		} else {
			types = append(types, form[0].types...)
		}
	}
	switch {
	case typed && len(types) > 0:
		slices.Sort(types)
		return []issue{x.mistyped(e, slices.Compact(types))}
	case likely == 1:
		return meant
	}
	return []issue{{path: path, what: "it fits none of the " + strconv.Itoa(len(e.Causes)) + " forms that are allowed", whole: true}}
}

func (x *explainer) mistyped(e *jsonschema.ValidationError, want []string) issue {
	what := "expected " + strings.Join(want, " or ") + ", found " + typeName(x.at(e.InstanceLocation))
	return issue{path: x.path(e.InstanceLocation), what: what, types: want, whole: true}
}

// issue explains an error that has no others below it, or none that matter.
func (x *explainer) issue(e *jsonschema.ValidationError) issue {
	i := issue{path: x.path(e.InstanceLocation)}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return x.mistyped(e, k.Want)
	case *kind.Enum:
		i.what, i.value = "expected "+values(k.Want)+", found another "+typeName(x.at(e.InstanceLocation)), true
	case *kind.Const:
		i.what, i.value = "expected "+values([]any{k.Want})+", found another "+typeName(x.at(e.InstanceLocation)), true
	case *kind.Required:
		i.what = missing(k.Missing)
		if x.whole && len(k.Missing) == 1 {
			i.path = x.path(append(slices.Clone(e.InstanceLocation), k.Missing[0]))
			i.what = "it is required and missing"
		}
	case *kind.DependentRequired:
		i.what = "with " + strconv.Quote(excerpt(k.Prop)) + ", " + missing(k.Missing)
	case *kind.Dependency:
		i.what = "with " + strconv.Quote(excerpt(k.Prop)) + ", " + missing(k.Missing)
	case *kind.AdditionalProperties:
		return x.unknown(e, k.Properties)
	case *kind.PropertyNames:
		i.what = "no member may be called " + strconv.Quote(excerpt(k.Property))
	case *kind.FalseSchema:
		i.what = "nothing may be given here"
	case *kind.Not, *kind.OneOf:
		i.what = "it fits a form that is not allowed, or several of which one is"
	default:
		i.what = bound(e.ErrorKind)
	}
	return i
}

// unknown explains that there are members that the schema does not have.
func (x *explainer) unknown(e *jsonschema.ValidationError, names []string) issue {
	slices.Sort(names)
	i := issue{path: x.path(e.InstanceLocation), what: "there must be no " + quoteAll(names)}
	if len(names) == 1 {
		i.path = x.path(append(slices.Clone(e.InstanceLocation), names[0]))
		i.what = "there is no such parameter"
		if x.whole {
			i.what = "there is no such member"
		}
	}
	schema := x.known[e.SchemaURL]
	if schema == nil || len(schema.Properties) == 0 {
		return i
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range names[:min(len(names), mostIssues)] {
		if like := slips.Near(name, known); len(like) > 0 {
			i.hint += " (did you mean " + strconv.Quote(excerpt(like[0])) + "?)"
		}
	}
	if i.hint == "" {
		i.hint = " (there are " + quoteAll(known) + ")"
	}
	return i
}

func missing(names []string) string {
	if len(names) == 1 {
		return "the required " + quoteAll(names) + " is missing"
	}
	return "the required " + quoteAll(names) + " are missing"
}

// values writes values of the schema, as many as a message can carry.
func values(list []any) string {
	const most = 10
	var parts []string
	for _, v := range list[:min(len(list), most)] {
		b, err := json.Marshal(v)
		if err != nil {
			continue
		}
		parts = append(parts, excerpt(string(b)))
	}
	if more := len(list) - most; more > 0 {
		parts = append(parts, "or "+strconv.Itoa(more)+" more")
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "one of " + strings.Join(parts, ", ")
}

// at is the value at a place in the arguments.
func (x *explainer) at(location []string) any {
	v := x.value
	for _, token := range location {
		v, _ = step(v, token)
	}
	return v
}

// path writes a place as location.city or items[2].id.
func (x *explainer) path(location []string) string {
	var b strings.Builder
	v := x.value
	for _, token := range location {
		var array bool
		v, array = step(v, token)
		switch {
		case array:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + excerpt(token))
		default:
			b.WriteString(excerpt(token))
		}
	}
	return longPath(b.String())
}

// step goes to a member or an element.
func step(v any, token string) (next any, array bool) {
	switch v := v.(type) {
	case map[string]any:
		return v[token], false
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// typeName is JSON Schema's name for the type of a value.
func typeName(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return "number"
		}
		return "integer"
	}
	return "null"
}

// bound says which bound of the schema a value does not keep.
func bound(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "it must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "it must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "it must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "it must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "it must be a multiple of " + decimal(k.Want)
	case *kind.Pattern:
		return "it must match the pattern " + strconv.Quote(excerpt(k.Want))
	}
	return count(k)
}

// count says which number of things a value does not have.
func count(k jsonschema.ErrorKind) string {
	of := func(limit string, want, got int, things string) string {
		return "it must have at " + limit + " " + strconv.Itoa(want) + " " + things + " and has " + strconv.Itoa(got)
	}
	switch k := k.(type) {
	case *kind.MinLength:
		return of("least", k.Want, k.Got, "characters")
	case *kind.MaxLength:
		return of("most", k.Want, k.Got, "characters")
	case *kind.MinItems:
		return of("least", k.Want, k.Got, "elements")
	case *kind.MaxItems:
		return of("most", k.Want, k.Got, "elements")
	case *kind.MinProperties:
		return of("least", k.Want, k.Got, "members")
	case *kind.MaxProperties:
		return of("most", k.Want, k.Got, "members")
	case *kind.MinContains:
		return of("least", k.Want, len(k.Got), "elements of the form that it must contain")
	case *kind.MaxContains:
		return of("most", k.Want, len(k.Got), "elements of the form that it must contain")
	case *kind.Contains:
		return "it has no element of the form that it must contain"
	case *kind.AdditionalItems:
		return "it has " + strconv.Itoa(k.Count) + " elements too many"
	case *kind.UniqueItems:
		return "its elements " + strconv.Itoa(k.Duplicates[0]) + " and " + strconv.Itoa(k.Duplicates[1]) + " are the same"
	}
	return "it does not fit"
}

// decimal writes a number of the schema.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return excerpt(r.Num().String())
	}
	const digits = 10
	return excerpt(strings.TrimRight(r.FloatString(digits), "0"))
}
