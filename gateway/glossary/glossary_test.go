package glossary_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/glossary"
)

// TestTerms holds that each name has one meaning in its list, as a sentence where it is one.
func TestTerms(t *testing.T) {
	t.Parallel()
	for list, terms := range map[string][]glossary.Term{"codes": glossary.Codes, "faults": glossary.Faults, "repairs": glossary.Repairs, "warnings": glossary.Warnings, "signals": glossary.Signals} {
		seen := map[string]bool{}
		for _, term := range terms {
			if seen[term.Name] || term.Means == "" {
				t.Errorf("%s: %q is there twice, or has no words", list, term.Name)
			}
			seen[term.Name] = true
			if sentence := list != "repairs" && list != "signals"; sentence != strings.HasSuffix(term.Means, ".") {
				t.Errorf("%s: got %q of %s", list, term.Means, term.Name)
			}
		}
	}
	for want, w := range map[string]string{
		"A parser failed (hermes:time_limit), and others read on.": "plugin:hermes:time_limit", "A parser failed, and others read on.": "plugin",
		"The arguments were not JSON.": "invalid_json", "": "none",
	} {
		if got := glossary.Warning(w); got != want {
			t.Errorf("got %q of %q, want %q", got, w, want)
		}
	}
	for want, term := range map[string]glossary.Term{"a": {Name: "a"}, "a:B": {Name: "a", Behind: "B"}, "a[:B]": {Name: "a", Behind: "[B]"}} {
		if got := term.Says(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

var name = regexp.MustCompile(`^[a-z_]+$`)

// TestAllHaveWords holds that the names that stand in the code as texts have words, so that none is new and
// unexplained. Answers with the others pass checkNames of internal/cli.
func TestAllHaveWords(t *testing.T) {
	t.Parallel()
	found := 0
	look := func(at token.Position, what string, words func(string) string, in ast.Node) {
		ast.Inspect(in, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				if said, _, _ := strings.Cut(text, ":"); name.MatchString(said) {
					if found++; words(said) == "" {
						t.Errorf("%s: the %s %q has no words in gateway/glossary", at, what, said)
					}
				}
			}
			return true
		})
	}
	for _, dir := range []string{"..", "../../providers", "../../wasm-parsers"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "toolserver") {
				return err // a tool server's tools have warnings of their own, in sentences
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					s, ok := n.Fun.(*ast.SelectorExpr)
					if !ok || len(n.Args) == 0 || isLog(s.X) {
						return true
					}
					switch s.Sel.Name {
					case "Warn", "warn":
						look(files.Position(n.Pos()), "warning", glossary.Warning, n.Args[0])
					case "Repaired":
						look(files.Position(n.Pos()), "repair", glossary.Repair, n.Args[0])
					case "Repair": // of a parser; a broken call becomes a warning
						look(files.Position(n.Pos()), "repair", func(s string) string { return glossary.Repair(s) + glossary.Warning(s) }, n.Args[0])
					case "Fault":
						look(files.Position(n.Pos()), "fault", glossary.Fault, n.Args[0])
					}
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Warning" || key.Name == "Warnings") {
						look(files.Position(n.Pos()), "warning", glossary.Warning, n.Value)
					}
				case *ast.AssignStmt:
					if s, ok := n.Lhs[0].(*ast.SelectorExpr); ok && (s.Sel.Name == "Warning" || s.Sel.Name == "Warnings") {
						look(files.Position(n.Pos()), "warning", glossary.Warning, n.Rhs[0])
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 60 {
		t.Errorf("found %d names in the code, want more: the test looks in the wrong place", found)
	}
}

// isLog reports whether a Warn is a logger's.
func isLog(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return strings.HasSuffix(strings.ToLower(x.Name), "log")
	case *ast.SelectorExpr:
		return strings.HasSuffix(strings.ToLower(x.Sel.Name), "log")
	}
	return false
}
