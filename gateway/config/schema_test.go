package config

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// sections calls visit with every struct of the file.
func sections(t reflect.Type, visit func(reflect.Type)) {
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		sections(t.Elem(), visit)
	case reflect.Struct:
		if isScalar(t) {
			return
		}
		visit(t)
		for _, f := range fieldsOf(t) {
			sections(f.typ, visit)
		}
	}
}

// TestTags checks what the rest of the package takes for granted of the tags.
func TestTags(t *testing.T) {
	t.Parallel()
	sections(reflect.TypeFor[Config](), func(section reflect.Type) {
		seen := map[string]bool{}
		for _, f := range fieldsOf(section) {
			name := section.Name() + "." + f.name
			if seen[f.name] {
				t.Errorf("%s: got the key twice", name)
			}
			seen[f.name] = true
			if f.doc == "" {
				t.Errorf("%s: got no doc tag", name)
			}
			if f.example == "" {
				t.Errorf("%s: got no example", name)
			}
			if (f.min != "" || f.max != "" || f.typ.Kind() == reflect.Int || f.typ.Kind() == reflect.Int64 || isFloat(f.typ)) && !inOrder(f) {
				t.Errorf("%s: got min %s, default %s, max %s, want them valid and in order", name, f.min, f.def, f.max)
			}
			var example map[string]any
			if err := yaml.Unmarshal([]byte(f.name+": "+f.example), &example); err != nil {
				t.Errorf("%s: got an example that is not YAML: %v", name, err)
			}
		}
	})
}

// inOrder reports whether min, default and max are numbers, each not less than the
// one before. Without a default, 0 must be out of bounds, since it stands for nothing
// written.
func inOrder(f field) bool {
	texts := []string{f.min, f.def, f.max}
	if !f.hasDef {
		texts = []string{"0", f.min, f.max}
		if f.typ == durationType {
			texts[0] = "0s"
		}
	}
	var numbers []float64
	for _, text := range texts {
		v := reflect.New(f.typ).Elem()
		if err := setScalar(v, text); err != nil {
			return false
		}
		numbers = append(numbers, v.Convert(reflect.TypeFor[float64]()).Float())
	}
	return slices.IsSorted(numbers) && (f.hasDef || numbers[1] > 0)
}

// TestDocComments checks that the comment of every field exists and tells its
// default and its words.
func TestDocComments(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok && f.Tag != nil && len(f.Names) > 0 {
				checkComment(t, f)
				checked++
			}
			return true
		})
	}
	want := 0
	seen := map[reflect.Type]bool{}
	sections(reflect.TypeFor[Config](), func(section reflect.Type) {
		if !seen[section] {
			want += ownKeys(section)
		}
		seen[section] = true
	})
	if checked != want {
		t.Errorf("got the comments of %d fields, want %d", checked, want)
	}
}

// ownKeys counts the keys of a section without those that it inlines.
func ownKeys(section reflect.Type) int {
	own := 0
	for _, f := range fieldsOf(section) {
		if len(f.index) == 1 {
			own++
		}
	}
	return own
}

func checkComment(t *testing.T, f *ast.Field) {
	t.Helper()
	literal, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		t.Fatal(err)
	}
	tag := reflect.StructTag(literal)
	comment := strings.Join(strings.Fields(f.Doc.Text()), " ")
	if comment == "" {
		t.Errorf("%s: got no comment", f.Names[0])
	}
	if def, ok := tag.Lookup("default"); ok && !strings.Contains(comment, def) {
		t.Errorf("%s: the comment does not tell the default %s", f.Names[0], def)
	}
	for word := range strings.SplitSeq(tag.Get("enum"), ",") {
		// A target's words are told where the provider has the key.
		if !strings.Contains(comment, word) && !strings.Contains(comment, "as in [Provider]") {
			t.Errorf("%s: the comment does not tell the word %s", f.Names[0], word)
		}
	}
}

// TestAdapters checks that every type of provider is known, and none more.
func TestAdapters(t *testing.T) {
	t.Parallel()
	var words []string
	for _, f := range fieldsOf(reflect.TypeFor[Provider]()) {
		if f.name == "type" {
			words = slices.Sorted(slices.Values(f.enum))
		}
	}
	if got := sortedKeys(adapters); !slices.Equal(got, words) {
		t.Errorf("got adapters %v, want %v", got, words)
	}
	for _, v := range vendors {
		if adapters[v.name].baseURL == "" {
			t.Errorf("%s: got no type of that name with an upstream, want one", v.name)
		}
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	var root map[string]any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	checkListed(t, "", root, reflect.TypeFor[Config]())
	data, err := os.ReadFile("testdata/good/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sections(reflect.TypeFor[Config](), func(section reflect.Type) {
		for _, f := range fieldsOf(section) {
			if !strings.Contains(string(data), f.name+":") {
				t.Errorf("full.yaml does not show %s", f.name)
			}
		}
	})
}

// checkListed checks that a schema lists every key of a type, and no others.
func checkListed(t *testing.T, p path, s map[string]any, typ reflect.Type) {
	t.Helper()
	switch {
	case isScalar(typ):
	case typ.Kind() == reflect.Slice:
		checkListed(t, p, s["items"].(map[string]any), typ.Elem())
	case typ.Kind() == reflect.Map:
		checkListed(t, p, s["additionalProperties"].(map[string]any), typ.Elem())
	case typ.Kind() == reflect.Struct:
		properties, _ := s["properties"].(map[string]any)
		if got, want := len(properties), len(fieldsOf(typ)); got != want || s["additionalProperties"] != false {
			t.Errorf("%s: got %d keys, want %d", p, got, want)
		}
		for _, f := range reflect.VisibleFields(typ) {
			name, ok := f.Tag.Lookup("yaml")
			if !ok || f.Anonymous {
				continue
			}
			property, ok := properties[name].(map[string]any)
			if !ok || property["description"] == "" {
				t.Errorf("%s: got %v, want a schema with a description", p.Key(name), properties[name])
				continue
			}
			checkListed(t, p.Key(name), property, f.Type)
		}
	}
}

// TestPatterns checks that the schema's patterns take what the parser takes.
func TestPatterns(t *testing.T) {
	t.Parallel()
	size, duration := regexp.MustCompile(sizePattern), regexp.MustCompile(durationPattern)
	for _, text := range []string{"1", "32MiB", "1KB", "x", "1.5MB", "1mib", "", "-1"} {
		_, err := ParseSize(text)
		if got, want := size.MatchString(text), err == nil; got != want {
			t.Errorf("size %q: got %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"1s", "1m30s", "1.5h", "100ms", "1.s", ".5s", "+1s", "0s", "1µs", "0", "3", "x", "", ".s", "1 s"} {
		_, err := parseDuration(text)
		if got, want := duration.MatchString(text), err == nil; got != want {
			t.Errorf("duration %q: got %v, want %v", text, got, want)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	steps := []path{""}
	for _, key := range []string{"models", `a["b"].c]`, "x.y", "", "targets"} {
		steps = append(steps, steps[len(steps)-1].Key(key))
	}
	steps = append(steps, steps[len(steps)-1].At(12))
	steps = append(steps, steps[len(steps)-1].Key("provider"))
	for i := 1; i < len(steps); i++ {
		if got, want := steps[i].Parent(), steps[i-1]; got != want {
			t.Errorf("parent of %s: got %s, want %s", steps[i], got, want)
		}
	}
}
