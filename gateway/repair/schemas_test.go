package repair_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/internal/steps"
)

// schemaCase is one line of testdata/schemas.jsonl: a schema, arguments, and what is
// wrong with them.
type schemaCase struct {
	Why       string `json:"why"`
	Schema    string `json:"schema"`
	Args      string `json:"args"`
	Message   string `json:"message"` // a part of it; none if they fit
	Path      string `json:"path"`
	Unchecked bool   `json:"unchecked"`
}

func readSchemaCases(tb testing.TB) []schemaCase {
	tb.Helper()
	f, err := os.Open("testdata/schemas.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var cases []schemaCase
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c schemaCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatalf("line %d: %v", len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	return cases
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	schemas := repair.NewSchemas(0)
	for _, c := range readSchemaCases(t) {
		t.Run(c.Why, func(t *testing.T) {
			t.Parallel()
			for range 3 { // the order of members must not show
				problem, checked := schemas.Check([]byte(c.Schema), []byte(c.Args))
				if checked == c.Unchecked {
					t.Fatalf("%s: checked = %v, want %v", c.Schema, checked, !c.Unchecked)
				}
				if (problem == nil) != (c.Message == "") {
					t.Fatalf("%s with %s: got %v, want %q", c.Schema, c.Args, problem, c.Message)
				}
				if problem == nil {
					return
				}
				if !strings.Contains(problem.Message, c.Message) || problem.Path != c.Path {
					t.Fatalf("%s with %s:\ngot  %q at %q\nwant %q at %q", c.Schema, c.Args, problem.Message, problem.Path, c.Message, c.Path)
				}
				if problem.Class != repair.SchemaMismatch && problem.Class != repair.InvalidJSON {
					t.Fatalf("class = %q", problem.Class)
				}
				if text := problem.Error(); strings.Contains(strings.ToLower(text), "secret") {
					t.Fatalf("%q holds a value of the arguments", text)
				}
			}
		})
	}
}

// chainOf writes a schema of definitions d0 to dn, each made from the name of the next.
func chainOf(n int, format string, last string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":%s,`, i, strings.ReplaceAll(format, "NEXT", next))
	}
	fmt.Fprintf(&b, `"d%d":%s}}`, n, last)
	return b.String()
}

// TestSchemasHostile checks that no schema and no arguments take more than a moment.
func TestSchemasHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, schemasHostile)
}

func schemasHostile(t *testing.T) {
	const most = 1 << 30
	list := func(n int, element string) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	const no = `{"type":"string"}`
	for _, c := range []struct{ name, schema, args string }{
		{"all of two, forty deep", chainOf(40, `{"allOf":[NEXT,NEXT]}`, `{"minProperties":0}`), `{}`},
		{"any of two, forty deep, that fail", chainOf(40, `{"anyOf":[NEXT,NEXT]}`, no), `{}`},
		{"one of two, that fail", chainOf(40, `{"oneOf":[NEXT,NEXT]}`, no), `{}`},
		{"not of all, that fail", `{"not":` + chainOf(40, `{"allOf":[NEXT,NEXT]}`, no) + `}`, `{}`},
		{"not of any", `{"not":` + strings.ReplaceAll(chainOf(40, `{"anyOf":[NEXT,NEXT]}`, no), "#/", "#/not/") + `}`, `{}`},
		{"not of dependencies", `{"not":` + strings.ReplaceAll(chainOf(40, `{"dependencies":{"a":NEXT,"b":NEXT}}`, no), "#/", "#/not/") + `}`, `{"a":1,"b":2}`},
		{"dependent schemas", chainOf(40, `{"dependentSchemas":{"a":NEXT,"b":NEXT}}`, no), `{"a":1,"b":2}`},
		{"conditions", chainOf(40, `{"if":NEXT,"then":NEXT,"else":NEXT}`, no), `{}`},
		{"a reference beside a form", chainOf(40, `{"anyOf":[NEXT],"$ref":"#/$defs/d40"}`, `true`), `{}`},
		{"itself, twice, for every member", `{"additionalProperties":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}`, deep(100)},
		{"itself in patterns", `{"patternProperties":{"a":{"$ref":"#"},"^a":{"$ref":"#"},"a$":{"$ref":"#"}}}`, deep(100)},
		{"itself in elements", `{"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]},"contains":{"$ref":"#"}}`, strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		{"members that nothing knows", chainOf(30, `{"allOf":[NEXT,NEXT],"unevaluatedProperties":NEXT}`, `true`), deep(50)},
		{"a long chain", chainOf(1000, `NEXT`, no), `{}`},
		{"a long chain for many elements", `{"items":` + strings.ReplaceAll(chainOf(1000, `NEXT`, `true`), "#/", "#/items/") + `}`, list(100_000, "1")},
		{"many values", `{"items":{"enum":` + list(20_000, `"abcdefgh"`)[1:] + `}}`, list(100_000, `"abcdefgi"`)},
		{"many values for many", `{"items":{"enum":[` + strings.TrimSuffix(strings.Repeat(`"abcdefg",`, 1000), ",") + `,"x"]}}`, list(100_000, `"abcdefgi"`)},
		{"a slow pattern", `{"properties":{"a":{"pattern":"^(([a-z])+.)+[A-Z]([a-z])+$"}}}`, `{"a":"` + strings.Repeat("a", 1<<16) + `"}`},
		{"a large pattern", `{"properties":{"a":{"pattern":"(x*){1000}y"}}}`, `{"a":"` + strings.Repeat("x", 1<<18) + `"}`},
		{"a larger pattern", `{"properties":{"a":{"pattern":"` + strings.Repeat("(a{500}){2}", 60) + `"}}}`, `{"a":"a"}`},
		{"classes", `{"properties":{"a":{"pattern":"` + strings.Repeat(`[\\p{L}]`, 120) + `"}}}`, `{"a":"a"}`},
		{"many patterns", `{"patternProperties":{` + numbered(2000, `"x%d+":{}`) + `}}`, `{` + numbered(5000, `"x%d":1`) + `}`},
		{"large numbers", `{"items":{"type":"integer"}}`, list(2000, "1e400")},
		{"larger numbers", `{"items":{"type":"integer"}}`, list(2000, "1e999999")},
		{"a number of a million digits", `{"items":{"type":"integer"}}`, "[" + strings.Repeat("1", 1<<20) + "]"},
		{"multiples", `{"items":{"multipleOf":1e-300}}`, list(5_000, "1e300")},
		{"elements of one hash", `{"uniqueItems":true}`, sameHash(20_000)},
		{"elements that differ", `{"uniqueItems":true}`, "[" + numbered(100_000, "%d") + "]"},
		{"many errors, deep", `{"additionalProperties":{"$ref":"#"},"items":{"type":"string"}}`, strings.Repeat(`{"a":`, 100) + list(200_000, "1") + strings.Repeat("}", 100)},
		{"many errors in many forms", `{"items":{"anyOf":` + list(100, `{"type":"string"}`) + `}}`, list(10_000, "1")},
		{"many nodes", `{"allOf":[` + numbered(60_000, `{}`) + `]}`, `{}`},
		{"as many nodes as may be", `{"allOf":[` + numbered(4000, `{"minLength":%d}`) + `]}`, `{}`},
		{"many nested nodes", `{"properties":{` + numbered(900, `"p%d":{"properties":{"a":{"items":{}}}}`) + `}}`, `{}`},
		{"long names", `{"properties":{"` + strings.Repeat("n", 100_000) + `":{"properties":{` + numbered(2000, `"p%d":{}`) + `}}}}`, `{}`},
		{"names to escape", `{"properties":{"` + strings.Repeat("~/%", 60) + `":{"properties":{` + numbered(1500, `"~/%%%d":{}`) + `}}}}`, `{}`},
		{"references", `{"properties":{` + numbered(900, `"p%d":{"$ref":"#/x/%[1]d/y"}`) + `},"x":[` + numbered(900, `{"y":{"type":"string"}}`) + `]}`, `{}`},
		{"references to odd places", `{"properties":{` + numbered(250, `"p%d":{"$ref":"#/x/%[1]d"}`) + `},"x":[` + numbered(3000, `{}`) + `]}`, `{}`},
		{"ids", `{"properties":{` + numbered(1000, `"p%d":{"$id":"i%[1]d"}`) + `}}`, `{}`},
		{"deep", strings.Repeat(`{"items":`, 127) + "{}" + strings.Repeat("}", 127), strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		{"too deep", strings.Repeat(`{"items":`, 5000) + "{}" + strings.Repeat("}", 5000), `{}`},
		{"much too deep", strings.Repeat(`[`, 200_000), `{}`},
		{"arguments that are too deep", `{"items":{"$ref":"#"}}`, strings.Repeat("[", 9000) + strings.Repeat("]", 9000)},
		{"deep arguments and a long chain", `{"allOf":[` + numbered(1000, `{"items":{"minLength":%d}}`) + `],"items":{"$ref":"#"}}`, strings.Repeat("[", 120) + strings.Repeat("]", 120)},
	} {
		t.Run(c.name, func(t *testing.T) {
			schemas := repair.NewSchemas(4)
			for _, what := range []string{"compiling and checking", "checking"} {
				var problem *repair.Problem
				var checked bool
				cost := steps.Of(func() { problem, checked = schemas.Check([]byte(c.schema), []byte(c.args)) })
				t.Log(what, cost.Steps, checked)
				if cost.Steps > most {
					t.Errorf("%s took %d steps, want %d at most", what, cost.Steps, uint64(most))
				}
				if problem != nil && !checked {
					t.Errorf("a problem that was not checked: %v", problem)
				}
			}
		})
	}
}

func numbered(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		if strings.Contains(format, "%") {
			parts[i] = fmt.Sprintf(format, i)
		} else {
			parts[i] = format
		}
	}
	return strings.Join(parts, ",")
}

// sameHash writes arrays of strings that differ in where one string ends and the next
// begins.
func sameHash(n int) string {
	parts := make([]string, n)
	for i := range parts {
		var b strings.Builder
		b.WriteString(`["x`)
		for bit := range 15 {
			if i>>bit&1 == 1 {
				b.WriteString(`","x`)
			} else {
				b.WriteString(`\u0004x`)
			}
		}
		parts[i] = b.String() + `"]`
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// TestSchemasLarge checks that honest arguments are checked, however large.
func TestSchemasLarge(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{
		"id":{"type":"integer"},"name":{"type":"string","minLength":1},"kind":{"enum":["a","b","c"]},
		"at":{"anyOf":[{"type":"null"},{"type":"string","pattern":"^[0-9-]+$"}]}},"required":["id","name"],"additionalProperties":false}}}}`
	args := `{"rows":[` + numbered(15_000, `{"id":%d,"name":"some name","kind":"c","at":"2026-01-02"}`) + `]}`
	schemas := repair.NewSchemas(0)
	if problem, checked := schemas.Check([]byte(schema), []byte(args)); problem != nil || !checked {
		t.Errorf("%d bytes: got %v, %v, want no problem, checked", len(args), problem, checked)
	}
	args = strings.Replace(args, `"id":14000`, `"id":"x"`, 1)
	if problem, checked := schemas.Check([]byte(schema), []byte(args)); problem == nil || problem.Path != "rows[14000].id" || !checked {
		t.Errorf("%d bytes: got %v, %v, want a problem at rows[14000].id", len(args), problem, checked)
	}
	if _, checked := schemas.Check([]byte(`{"description":"`+strings.Repeat("x", 256<<10)+`"}`), []byte(`{}`)); checked {
		t.Error("a schema of more than 256 KiB was checked")
	}
}

// TestSchemasConcurrent checks from many goroutines with schemas that are shared, and
// more of them than are kept.
func TestSchemasConcurrent(t *testing.T) {
	t.Parallel()
	schemas := repair.NewSchemas(3)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 100 {
				n := (g + i) % 7
				schema := fmt.Sprintf(`{"properties":{"a":{"maximum":%d}}}`, n)
				for value, want := range map[int]bool{n: true, n + 1: false} {
					problem, checked := schemas.Check([]byte(schema), fmt.Appendf(nil, `{"a":%d}`, value))
					if !checked || (problem == nil) != want {
						t.Errorf("%s with %d: got %v, %v, want fits = %v", schema, value, problem, checked, want)
					}
				}
			}
		})
	}
	group.Wait()
}

// FuzzSchema checks that no schema and no arguments break the check, and that it says
// the same twice.
func FuzzSchema(f *testing.F) {
	for _, c := range readSchemaCases(f) {
		f.Add([]byte(c.Schema), []byte(c.Args))
	}
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		schemas := repair.NewSchemas(1)
		problem, checked := schemas.Check(schema, args)
		again, checkedAgain := schemas.Check(schema, args)
		if checked != checkedAgain || (problem == nil) != (again == nil) || problem != nil && *problem != *again {
			t.Fatalf("%q with %q: %v, %v, and then %v, %v", schema, args, problem, checked, again, checkedAgain)
		}
		if problem != nil && (!checked || problem.Message == "" || len(problem.Error()) > 16<<10) {
			t.Fatalf("%q with %q: %q, %v", schema, args, problem.Error(), checked)
		}
	})
}

func BenchmarkSchemas(b *testing.B) {
	schema := []byte(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1},
		"unit":{"enum":["celsius","fahrenheit"]}},"required":["city"],"additionalProperties":false}`)
	args := []byte(`{"city":"Oslo","days":3,"unit":"celsius"}`)
	schemas := repair.NewSchemas(0)
	b.ReportAllocs()
	for b.Loop() {
		if problem, checked := schemas.Check(schema, args); problem != nil || !checked {
			b.Fatal(problem, checked)
		}
	}
}
