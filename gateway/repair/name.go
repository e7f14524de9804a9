package repair

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"

	"github.com/callgate/callgate/sdk/abi"
)

const (
	// mostNear is how many near names a message gives.
	mostNear = 3
	// longestNear is how many bytes a name may have for which near names are looked up.
	longestNear = 128
	// mostCompared is how many names are looked at for near ones.
	mostCompared = 1024
)

// Name finds the offered tool that a model means by a name. An exact match wins.
// Otherwise case, separators (_ - . / : and space) and a prefix "functions." are
// left aside, and a name that then matches exactly one tool is resolved to it. If
// it matches several or none, resolved is "": the model's wish is not known, and
// candidates are the several, or up to three names that look alike. They are for
// [UnknownName] alone and must not be called.
func Name(name string, offered []abi.Tool) (resolved string, candidates []string) {
	if slices.ContainsFunc(offered, func(t abi.Tool) bool { return t.Name == name }) {
		return name, nil
	}
	folded := fold(name)
	names := make([]string, len(offered))
	for i := range offered {
		names[i] = offered[i].Name
		if folded != "" && fold(names[i]) == folded && !slices.Contains(candidates, names[i]) {
			candidates = append(candidates, names[i])
		}
	}
	switch len(candidates) {
	case 0:
		return "", near(name, names)
	case 1:
		return candidates[0], nil
	}
	return "", candidates
}

// fold leaves of a name what all ways to write it share: get_weather, getWeather,
// Get-Weather and functions.get_weather are the same.
func fold(name string) string {
	const prefix = "functions."
	if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
		name = name[len(prefix):]
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. /:", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// near returns the names that take the fewest changes to become name, at most a
// third of its letters.
func near(name string, names []string) []string {
	folded := fold(name)
	if folded == "" || len(name) > longestNear {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	limit := max(2, len(folded)/3)
	for _, n := range names[:min(len(names), mostCompared)] {
		other := fold(n)
		if d := len(other) - len(folded); len(other) > longestNear || max(d, -d) > 4*limit { // a letter has up to 4 bytes
			continue
		}
		if d := levenshtein.ComputeDistance(folded, other); d <= limit && d < len(folded) {
			found = append(found, candidate{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var nearest []string
	for _, c := range found {
		if len(nearest) < mostNear && !slices.Contains(nearest, c.name) {
			nearest = append(nearest, c.name)
		}
	}
	return nearest
}

// UnknownName is the problem of a call whose name [Name] could not resolve.
func UnknownName(name string, candidates []string) *Problem {
	p := &Problem{Class: UnknownTool, Message: "No tool is called " + strconv.Quote(excerpt(name)) + "."}
	if name == "" {
		p.Message = "The call names no tool."
	}
	p.Hint = "Call one of the offered tools by its exact name."
	if len(candidates) > 0 {
		p.Hint += " Names like it are " + quoteAll(candidates) + "."
	}
	return p
}

// quoteAll writes names for a message, as many as it can carry.
func quoteAll(names []string) string {
	const most = 10
	var parts []string
	for _, name := range names[:min(len(names), most)] {
		parts = append(parts, strconv.Quote(excerpt(name)))
	}
	s := strings.Join(parts, ", ")
	if len(names) > most {
		s += " and " + strconv.Itoa(len(names)-most) + " more"
	}
	return s
}
