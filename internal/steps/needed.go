//go:build !wasip1

package steps

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
)

// self is the path of this package.
const self = "github.com/callgate/callgate/internal/steps"

// needed are the files to compile for the tests of the current directory that count steps:
// those that import this package, and those that declare what they use. The others may
// import what is large, or what WebAssembly does not have. within says whether to take the
// tests that belong to the package itself, and not those beside it.
func needed(within bool) (files []string, err error) {
	c := build.Default
	c.GOOS, c.GOARCH = "wasip1", "wasm"
	p, err := c.ImportDir(".", 0)
	if err != nil {
		return nil, err
	}
	names := p.XTestGoFiles
	if within {
		names = p.TestGoFiles
	}
	tests, declared := map[string]*testFile{}, map[string]string{} // by file; the file by name
	var queue []string
	for _, name := range names {
		f, err := readTest(name)
		if err != nil {
			return nil, err
		}
		tests[name] = f
		for d := range f.declares {
			declared[d] = name
		}
		if f.counts {
			queue = append(queue, name)
		}
	}
	taken := map[string]bool{}
	for len(queue) > 0 {
		name := queue[0]
		if queue = queue[1:]; name == "" || taken[name] {
			continue
		}
		taken[name] = true
		for u := range tests[name].uses {
			queue = append(queue, declared[u])
		}
	}
	files = slices.Sorted(maps.Keys(taken))
	if within {
		files = append(files, p.GoFiles...)
	}
	return files, nil
}

// testFile is what a file of tests declares for its package, and the names that it uses.
type testFile struct {
	counts         bool // it imports this package
	declares, uses map[string]bool
}

func readTest(name string) (*testFile, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		return nil, err
	}
	f := &testFile{declares: map[string]bool{}, uses: map[string]bool{}}
	for _, i := range parsed.Imports {
		f.counts = f.counts || i.Path.Value == strconv.Quote(self)
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				f.declares[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					f.declares[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, id := range s.Names {
						f.declares[id.Name] = true
					}
				}
			}
		}
	}
	for _, id := range parsed.Unresolved { // not declared in the file
		f.uses[id.Name] = true
	}
	return f, nil
}
