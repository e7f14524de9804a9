package repair

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/callgate/callgate/internal/spelling"
	"github.com/callgate/callgate/sdk/abi"
)

// slips finds the tools whose names take the fewest changes to become the model's. Some of
// its letters must be right.
var slips = spelling.Rule{Most: 3, Longest: 128, Fold: foldName, Changes: func(name, _ string) int { return min(max(2, len(name)/3), len(name)-1) }}

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
	folded := foldName(name)
	names := make([]string, len(offered))
	for i := range offered {
		names[i] = offered[i].Name
		if folded != "" && foldName(names[i]) == folded && !slices.Contains(candidates, names[i]) {
			candidates = append(candidates, names[i])
		}
	}
	switch len(candidates) {
	case 0:
		return "", slips.Near(name, names)
	case 1:
		return candidates[0], nil
	}
	return "", candidates
}

// foldName leaves of a name what all ways to write it share: get_weather, getWeather,
// Get-Weather and functions.get_weather are the same.
func foldName(name string) string {
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
