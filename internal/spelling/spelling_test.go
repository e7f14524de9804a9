package spelling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/spelling"
)

func third(word, _ string) int { return len(word) / 3 }

func TestNear(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	many := append(slices.Repeat([]string{"other"}, 1024), "hermes")
	for name, tt := range map[string]struct {
		rule  spelling.Rule
		word  string
		known []string
		want  []string
	}{
		"nearest first":         {spelling.Rule{Longest: 64, Most: 3, Changes: third}, "hermse", []string{"herm", "hermes", "xxxx", "hermsy"}, []string{"hermsy", "herm", "hermes"}},
		"most":                  {spelling.Rule{Longest: 64, Most: 1, Changes: third}, "hermes", []string{"hermas", "hermis"}, []string{"hermas"}},
		"once each":             {spelling.Rule{Longest: 64, Most: 3, Changes: third}, "hermes", []string{"hermas", "hermas"}, []string{"hermas"}},
		"case":                  {spelling.Rule{Longest: 64, Most: 1, Changes: third}, "HERMES", []string{"Hermes"}, []string{"Hermes"}},
		"own fold":              {spelling.Rule{Longest: 64, Most: 1, Changes: third, Fold: func(s string) string { return strings.Trim(s, "_") }}, "__hermes__", []string{"_hermes"}, []string{"_hermes"}},
		"letters, not bytes":    {spelling.Rule{Longest: 64, Most: 1, Changes: func(string, string) int { return 1 }}, "สี", []string{"ส"}, []string{"ส"}},
		"a part":                {spelling.Rule{Longest: 64, Most: 1, Changes: third, Parts: true}, "qwen3", []string{"Qwen/qwen3-235b-a22b-instruct"}, []string{"Qwen/qwen3-235b-a22b-instruct"}},
		"no part":               {spelling.Rule{Longest: 64, Most: 1, Changes: third}, "qwen3", []string{"Qwen/qwen3-235b-a22b-instruct"}, nil},
		"nothing":               {spelling.Rule{Longest: 64, Most: 1, Changes: third}, "", []string{""}, nil},
		"nothing but its frame": {spelling.Rule{Longest: 64, Most: 1, Changes: third, Fold: func(string) string { return "" }}, "_", []string{"_"}, nil},
		"a long word":           {spelling.Rule{Longest: 64, Most: 1, Changes: third}, long, []string{long[1:]}, nil},
		"a long known one":      {spelling.Rule{Longest: 64, Most: 1, Changes: third, Parts: true}, "x", []string{long}, nil},
		"a long list":           {spelling.Rule{Longest: 64, Most: 1, Changes: third}, "hermes", many, nil},
	} {
		if got := tt.rule.Near(tt.word, tt.known); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
