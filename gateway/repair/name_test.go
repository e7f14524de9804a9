package repair_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/internal/steps"
	"github.com/callgate/callgate/sdk/abi"
)

func tools(names ...string) []abi.Tool {
	var list []abi.Tool
	for _, name := range names {
		list = append(list, abi.Tool{Name: name})
	}
	return list
}

func TestName(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/names.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct {
			Why, Name, Resolved string
			Offered, Candidates []string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.Why, func(t *testing.T) {
			t.Parallel()
			resolved, candidates := repair.Name(c.Name, tools(c.Offered...))
			if resolved != c.Resolved || !slices.Equal(candidates, c.Candidates) {
				t.Errorf("Name(%q, %q): got %q, %q, want %q, %q", c.Name, c.Offered, resolved, candidates, c.Resolved, c.Candidates)
			}
		})
	}
}

func TestUnknownName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"get", nil, `No tool is called "get". Call one of the offered tools by its exact name.`},
		{"", nil, `The call names no tool. Call one of the offered tools by its exact name.`},
		{"get", []string{"set", "gets"}, `No tool is called "get". Call one of the offered tools by its exact name. Names like it are "set", "gets".`},
		{strings.Repeat("é", 99), nil, `No tool is called "` + strings.Repeat("é", 40) + `…". Call one of the offered tools by its exact name.`},
	} {
		got := repair.UnknownName(c.name, c.candidates)
		if got.Class != repair.UnknownTool || got.Error() != c.want {
			t.Errorf("UnknownName(%q): got %s, %q, want %q", c.name, got.Class, got.Error(), c.want)
		}
	}
	many := repair.UnknownName("get", strings.Split(strings.Repeat("a,", 99)+"a", ","))
	if !strings.HasSuffix(many.Hint, `"a" and 90 more.`) {
		t.Errorf("a hundred candidates: got %q, want ten of them", many.Hint)
	}
}

// TestNameHostile checks that long names and long lists cost little.
func TestNameHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const small, factor = 500, 16
		work := func(name string, tools int) func() {
			var offered []abi.Tool
			for i := range tools {
				offered = append(offered, abi.Tool{Name: strings.Repeat("ab", 60) + strings.Repeat("c", i%8)})
			}
			return func() { repair.Name(name, offered) }
		}
		for _, name := range []string{strings.Repeat("ba", 60), strings.Repeat("_", 1<<14), strings.Repeat("x", 1<<14)} {
			steps.Linear(t, factor, work(name, small), work(name, small*factor))
			steps.Linear(t, factor, work(name, small), work(strings.Repeat(name, factor), small))
		}
	})
}

// FuzzName checks that only offered names are resolved, and only if one can be meant.
func FuzzName(f *testing.F) {
	f.Add("getWeather", "get_weather\nget_time")
	f.Add("functions.READ", "read\nRead\nfunctions.read")
	f.Add("\xff", "\xff\n\xfe")
	f.Fuzz(func(t *testing.T, name, list string) {
		names := strings.Split(list, "\n")
		resolved, candidates := repair.Name(name, tools(names...))
		for _, n := range append(candidates, resolved) {
			if n != "" && !slices.Contains(names, n) {
				t.Fatalf("Name(%q, %q) gave %q, which was not offered", name, names, n)
			}
		}
		switch {
		case resolved != "" && len(candidates) > 0:
			t.Fatalf("Name(%q, %q) resolved it and is not sure", name, names)
		case slices.Contains(names, name) && resolved != name:
			t.Fatalf("Name(%q, %q) = %q, want the exact match", name, names, resolved)
		case resolved != "" && resolved != name:
			alone, _ := repair.Name(resolved, tools(name))
			if alone != name {
				t.Fatalf("Name(%q, %q) = %q, but %[3]q is not resolved to %[1]q", name, names, resolved)
			}
		}
		if p := repair.UnknownName(name, candidates); p.Message == "" || len(p.Error()) > 8192 {
			t.Fatalf("UnknownName(%q): %q", name, p.Error())
		}
	})
}
