package config

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// inlined is a section with keys from two structs, one of them inside the other.
type inlined struct {
	First string `yaml:"first" doc:"x"`
	Outer `yaml:",inline"`
	Last  int `yaml:"last" default:"7" min:"1" max:"9"`
}

type Outer struct {
	Middle Size `yaml:"middle" default:"1KiB" min:"1B" max:"1MiB"`
	Inner  `yaml:",inline"`
}

type Inner struct {
	Needed string   `yaml:"needed" required:"true" eg:"x"`
	Share  float64  `yaml:"share" eg:"0.5" min:"0.1" max:"1"`
	List   []string `yaml:"list" eg:"[a]"`
}

// TestInline checks that keys of an inlined struct are keys of the section in all
// that the tags are read for.
func TestInline(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[inlined]()
	want := []string{"first", "middle", "needed", "share", "list", "last"}
	for range 2 { // the second time from the cache
		if got := namesOf(fieldsOf(typ)); !slices.Equal(got, want) {
			t.Errorf("got keys %q, want %q", got, want)
		}
	}
	if got := sectionSchema(typ); len(got["properties"].(schema)) != len(want) || !slices.Equal(got["required"].([]string), []string{"needed"}) {
		t.Errorf("got schema %v, want keys %q, needed among them required", got, want)
	}

	v, problems := decodeInline(t, "first: a\nneeded: b\nshare: 0.5\nlist: [c]\n")
	wantValue := inlined{First: "a", Outer: Outer{Middle: 1 << 10, Inner: Inner{Needed: "b", Share: 0.5, List: []string{"c"}}}, Last: 7}
	if !reflect.DeepEqual(v, wantValue) || problems != "" {
		t.Errorf("got %+v, %s, want %+v", v, problems, wantValue)
	}
	var printed bytes.Buffer
	printSection(&printed, reflect.ValueOf(v), 0)
	if got, want := printed.String(), "first: a\nmiddle: 1KiB\nneeded: b\nshare: 0.5\nlist:\n  - c\nlast: 7\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, problems = decodeInline(t, "middle: 2MiB\nneded: b\nshare: 0\nlast: 0\n")
	const wantProblems = `f:1:9: middle: 2MiB is out of range; it may be from 1B to 1MiB, for example middle: 1KiB
f:2:1: neded: unknown key "neded"; did you mean "needed"? known keys: first, middle, needed, share, list, last
f:3:8: share: 0 is out of range; it may be from 0.1 to 1, for example share: 0.5
f:4:7: last: 0 is out of range; it may be from 1 to 9, for example last: 7`
	if problems != wantProblems {
		t.Errorf("got\n%s\nwant\n%s", problems, wantProblems)
	}
	if _, problems = decodeInline(t, "first: a\n"); problems != "f:1:1: needed: a value is required; write for example needed: x" {
		t.Errorf("got %s, want needed to be missing and nothing else", problems)
	}
}

// decodeInline reads a section as Parse does the file, and checks its tags.
func decodeInline(t *testing.T, text string) (v inlined, problems string) {
	t.Helper()
	r := newReport(&source{file: "f", marks: map[path]mark{}})
	section := reflect.ValueOf(&v).Elem()
	setDefaults(section)
	d := &decoder{r: r, exp: newExpander(nil)}
	d.value("", yamldoc.Read([]byte(text), limits, &r.problems), section, field{})
	checkTags(r, "", section)
	if err := r.err(); err != nil {
		problems = err.Error()
	}
	return v, problems
}
