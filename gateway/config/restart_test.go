package config_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// TestRestartPage holds that docs/reload.md names all keys that are read at the start only, and no others.
func TestRestartPage(t *testing.T) {
	t.Parallel()
	var want []string
	var collect func(prefix string, of reflect.Type)
	collect = func(prefix string, of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case name == "" || name == "-":
			case f.Tag.Get("restart") == "true":
				want = append(want, prefix+name)
			case f.Type.Kind() == reflect.Struct:
				collect(prefix+name+".", f.Type)
			}
		}
	}
	collect("", reflect.TypeFor[config.Config]())
	page, err := os.ReadFile("../../docs/reload.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## What needs a restart")
	text, _, found := strings.Cut(text, "are read at the start only")
	var got []string
	for _, m := range regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !found || len(want) < 5 || !slices.Equal(got, want) {
		t.Errorf("the page names %q, and the keys that need a restart are %q", got, want)
	}
}
