package cli

import (
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/callgate/callgate/internal/spelling"
)

// ownPrefix begins the names of the program's variables.
const ownPrefix = "CALLGATE_"

// warnOfVariables says which variables of the environment are probably meant for the program, and misspelt: they
// would be ignored silently. Others that begin as its own do may be for the configuration file.
func warnOfVariables(log *slog.Logger) {
	for _, v := range misspelt(os.Environ(), variables()) {
		log.Warn("variable ignored: nothing reads it", "variable", v.name, "did_you_mean", v.meant)
	}
}

type slip struct{ name, meant string }

// misspelt are the variables of an environment that differ by a letter or two from one that is known.
func misspelt(environ, known []string) (out []slip) {
	rule := spelling.Rule{Most: 1, Longest: 64, Changes: func(word, _ string) int { return min(2, (len(word)-len(ownPrefix)+2)/4) }}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, ownPrefix) || slices.Contains(known, name) {
			continue
		}
		if near := rule.Near(name, known); len(near) > 0 {
			out = append(out, slip{name, near[0]})
		}
	}
	return out
}

// variables are those that some command reads.
func variables() (out []string) {
	k, err := kong.New(&cli{}, commandLine()...)
	if err != nil {
		return nil
	}
	for _, leaf := range k.Model.Leaves(true) {
		for _, group := range leaf.AllFlags(true) {
			for _, f := range group {
				out = append(out, f.Tag.Envs...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
