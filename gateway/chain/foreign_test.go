package chain_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// ollamaParsers are the parsers here that read what Ollama's tests of theirs are about, by the
// beginning of the file's name. Longer ones come first.
var ollamaParsers = [][2]string{
	{"functiongemma", "functiongemma"}, {"nemotron3nano", "qwen3_coder"}, {"qwen3coder", "qwen3_coder"}, {"qwen3vl", "hermes"}, {"qwen3", "hermes"},
	{"olmo3", "olmo3"}, {"lfm2", "lfm2"}, {"ministral", "mistral"}, {"glm46", "glm45"}, {"glm47", "glm47"}, {"deepseek3", "deepseek_v31"}, {"cogito", "deepseek_v3"},
}

// foreignCase is one of somebody else's test cases.
type foreignCase struct {
	file, parser, name, input string
	tools                     []abi.Tool
	calls                     []chain.Call
}

// TestForeign reads the test cases of Ollama's parsers of models (MIT) with the parsers for the same
// models, and with auto, and prints how many come out as they have it. OLLAMA is the folder of the
// module; make foreign fetches it. A call where they have none fails the test.
func TestForeign(t *testing.T) {
	dir := os.Getenv("OLLAMA")
	if dir == "" {
		t.Skip("OLLAMA is not set; see make foreign")
	}
	files, err := filepath.Glob(filepath.Join(dir, "model", "parsers", "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	var cases []foreignCase
	for _, file := range files {
		cases = append(cases, foreignCases(t, file)...)
	}
	cases = append(cases, foreignCases(t, filepath.Join(dir, "tools", "tools_test.go"))...)
	for _, auto := range []bool{false, true} {
		right, wanted, got, unsafe := 0, 0, 0, 0
		for _, c := range cases {
			name := c.parser
			if auto {
				name = "auto"
			}
			opts := chain.Options{Tools: func() []abi.Tool { return c.tools }, AnyName: len(c.tools) == 0, Reasoning: chain.Auto}
			out := read(plan(name), opts, []string{c.input}, "stop")
			wanted, got = wanted+len(c.calls), got+len(out.calls)
			same := 0
			for i, call := range out.calls {
				if i < len(c.calls) && call.Name == c.calls[i].Name && (c.calls[i].Arguments == "" || equalJSON(call.Arguments, c.calls[i].Arguments)) {
					same++
				}
			}
			right += same
			if len(c.calls) == 0 && len(out.calls) > 0 {
				unsafe++
			}
			if same != len(c.calls) || len(out.calls) != len(c.calls) {
				t.Logf("%s %s/%s %q\n got %v\nwant %v", name, c.file, c.name, c.input, out.calls, c.calls)
			}
		}
		fmt.Printf("foreign: auto %t: %d cases, %d calls wanted, %d read, %d right: precision %.3f, recall %.3f; cases with a call where none is: %d\n",
			auto, len(cases), wanted, got, right, float64(right)/float64(max(got, 1)), float64(right)/float64(max(wanted, 1)), unsafe)
	}
}

// foreignCases are the cases of a file: literals with an input and the calls that are expected.
func foreignCases(t *testing.T, file string) (cases []foreignCase) {
	t.Helper()
	base := filepath.Base(file)
	i := slices.IndexFunc(ollamaParsers, func(p [2]string) bool { return strings.HasPrefix(base, p[0]) })
	if i < 0 && base != "tools_test.go" {
		return nil
	}
	var offered []abi.Tool
	judged := false // the table at hand says which calls there are
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if set, ok := n.(*ast.AssignStmt); ok && len(set.Lhs) == 1 && offered == nil {
			if id, ok := set.Lhs[0].(*ast.Ident); ok && id.Name == "tools" {
				offered = toolsOf(set.Rhs[0])
			}
		}
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if table, ok := lit.Type.(*ast.ArrayType); ok {
			if row, ok := table.Elt.(*ast.StructType); ok {
				judged = slices.ContainsFunc(row.Fields.List, func(f *ast.Field) bool {
					return len(f.Names) > 0 && strings.Contains(strings.ToLower(f.Names[0].Name), "call")
				})
			}
		}
		fields := fieldsOf(lit)
		input, ok := literal(fields["input"]).(string)
		if pieces, several := literal(fields["inputs"]).([]any); several {
			for _, piece := range pieces {
				text, _ := piece.(string)
				input += text
			}
			ok = true
		}
		if !ok || input == "" || fields["steps"] != nil {
			return true
		}
		c := foreignCase{file: base, input: input, tools: offered}
		if i >= 0 {
			c.parser = ollamaParsers[i][1]
		} else if id, ok := fields["tmpl"].(*ast.Ident); ok { // a template stands for the model
			c.parser = map[string]string{"qwen": "hermes", "deepseek": "deepseek_v3", "mistral": "mistral_array"}[id.Name]
		}
		c.parser = cmp.Or(c.parser, "generic")
		c.name, _ = literal(fields["name"]).(string)
		for name, value := range fields {
			switch lower := strings.ToLower(name); {
			case strings.Contains(lower, "call"):
				c.calls = callsOf(value)
			case lower == "tools":
				c.tools = toolsOf(value)
			}
		}
		if judged {
			cases = append(cases, c)
		}
		return false
	})
	return cases
}

func fieldsOf(n ast.Node) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	if lit, ok := n.(*ast.CompositeLit); ok {
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if id, ok := kv.Key.(*ast.Ident); ok {
					out[id.Name] = kv.Value
				}
			}
		}
	}
	return out
}

func callsOf(e ast.Expr) (calls []chain.Call) {
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, el := range lit.Elts {
		f := fieldsOf(fieldsOf(el)["Function"])
		call := chain.Call{}
		call.Name, _ = literal(f["Name"]).(string)
		if args := f["Arguments"]; args != nil {
			if v := literal(args); v != nil {
				call.Arguments = jsonOf(v)
			}
		}
		if call.Name != "" {
			calls = append(calls, call)
		}
	}
	return calls
}

func toolsOf(e ast.Expr) (tools []abi.Tool) {
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	types := map[string]abi.Types{"string": abi.String, "integer": abi.Integer, "number": abi.Number, "boolean": abi.Boolean, "object": abi.Object, "array": abi.Array, "null": abi.Null}
	for _, el := range lit.Elts {
		f := fieldsOf(fieldsOf(el)["Function"])
		tool := abi.Tool{}
		tool.Name, _ = literal(f["Name"]).(string)
		var props *ast.CompositeLit
		if p := fieldsOf(f["Parameters"])["Properties"]; p != nil {
			ast.Inspect(p, func(n ast.Node) bool {
				if l, ok := n.(*ast.CompositeLit); ok && props == nil {
					props = l
				}
				return props == nil
			})
		}
		if props != nil {
			for _, e := range props.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				p := abi.Param{}
				p.Name, _ = literal(kv.Key).(string)
				if list, ok := literal(fieldsOf(kv.Value)["Type"]).([]any); ok {
					for _, v := range list {
						p.Types |= types[fmt.Sprint(v)]
					}
				}
				tool.Params = append(tool.Params, p)
			}
		}
		if tool.Name != "" {
			tools = append(tools, tool)
		}
	}
	return tools
}

// number is one as it is written.
type number string

// literal is the value of a constant expression, or nil.
func literal(e ast.Expr) any {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, _ := strconv.Unquote(e.Value)
			return s
		}
		return number(strings.TrimSuffix(strings.ReplaceAll(e.Value, "_", ""), ".0"))
	case *ast.UnaryExpr:
		if n, ok := literal(e.X).(number); ok && e.Op == token.SUB {
			return "-" + n
		}
	case *ast.BinaryExpr:
		a, ok := literal(e.X).(string)
		b, also := literal(e.Y).(string)
		if ok && also && e.Op == token.ADD {
			return a + b
		}
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return literal(e.Args[0])
		}
	case *ast.Ident:
		if e.Name == "true" || e.Name == "false" {
			return e.Name == "true"
		}
	case *ast.CompositeLit:
		if _, isMap := e.Type.(*ast.MapType); isMap {
			m := map[string]any{}
			for _, el := range e.Elts {
				kv := el.(*ast.KeyValueExpr)
				key, _ := literal(kv.Key).(string)
				m[key] = literal(kv.Value)
			}
			return m
		}
		list := []any{}
		for _, el := range e.Elts {
			list = append(list, literal(el))
		}
		return list
	}
	return nil
}

func jsonOf(v any) string {
	switch v := v.(type) {
	case number:
		return string(v)
	case string:
		return strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = jsonOf(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for k, value := range v {
			parts = append(parts, strconv.Quote(k)+":"+jsonOf(value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "null"
}
