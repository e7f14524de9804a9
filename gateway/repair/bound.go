package repair

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

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
