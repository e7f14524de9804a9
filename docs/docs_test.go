// Package docs_test holds that what the documents and comments name is there: files, packages,
// identifiers, tests, and the arrows between packages.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	root         = ".."
	module       = "github.com/callgate/callgate/"
	architecture = "docs/architecture.md"
)

// file is a Go file of the tree.
type file struct {
	pkg      string          // its package's name
	names    map[string]bool // what it declares: Name, Type.Member
	imports  []string        // of this module
	foreign  map[string]bool // what other modules are called in it
	comments []string
	says     []string // its strings of several words: messages, helps
}

// tree is the repository: its Go files and its texts, by their paths.
type tree struct {
	files map[string]*file
	texts map[string]string
	bases map[string]bool // names of files, without their folders
}

// readTree reads the repository, once.
func readTree(t *testing.T) *tree {
	t.Helper()
	tr, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

var read = sync.OnceValues(func() (*tree, error) {
	tr := &tree{files: map[string]*file{}, texts: map[string]string{}, bases: map[string]bool{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		place, base := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator))), d.Name()
		if d.IsDir() {
			if place != root && (strings.HasPrefix(base, ".") || base == "node_modules" || place == "bin" || place == "site") {
				return filepath.SkipDir
			}
			return nil
		}
		tr.bases[base] = true
		switch {
		case strings.HasSuffix(base, ".go"):
			tr.files[place], err = readFile(name)
		case strings.HasSuffix(base, ".md"), base == "Makefile":
			var text []byte
			text, err = os.ReadFile(name)
			tr.texts[place] = string(text)
		}
		return err
	})
	return tr, err
})

func readFile(name string) (*file, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{pkg: strings.TrimSuffix(parsed.Name.Name, "_test"), names: map[string]bool{}, foreign: map[string]bool{}}
	for _, i := range parsed.Imports {
		to, _ := strconv.Unquote(i.Path.Value) // the parser has read it
		if own, ok := strings.CutPrefix(to, module); ok {
			f.imports = append(f.imports, own)
		} else if i.Name != nil {
			f.foreign[i.Name.Name] = true
		} else {
			f.foreign[path.Base(to)] = true
		}
	}
	for _, c := range parsed.Comments {
		f.comments = append(f.comments, c.Text())
	}
	for _, d := range parsed.Decls {
		f.declare(d)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, " ") {
			text, _ := strconv.Unquote(l.Value) // the parser has read it
			f.says = append(f.says, text)
		}
		return true
	})
	return f, nil
}

func (f *file) declare(d ast.Decl) {
	if fn, ok := d.(*ast.FuncDecl); ok {
		name := fn.Name.Name
		if fn.Recv != nil {
			name = typeName(fn.Recv.List[0].Type) + "." + name
		}
		f.names[name] = true
		return
	}
	for _, s := range d.(*ast.GenDecl).Specs {
		switch s := s.(type) {
		case *ast.ValueSpec:
			for _, n := range s.Names {
				f.names[n.Name] = true
			}
		case *ast.TypeSpec:
			f.names[s.Name.Name] = true
			var members *ast.FieldList
			switch typ := s.Type.(type) {
			case *ast.StructType:
				members = typ.Fields
			case *ast.InterfaceType:
				members = typ.Methods
			default:
				continue
			}
			for _, m := range members.List {
				for _, n := range m.Names {
					f.names[s.Name.Name+"."+n.Name] = true
				}
			}
		}
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// packages are what the packages of a name declare.
func (tr *tree) packages() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, f := range tr.files {
		if all[f.pkg] == nil {
			all[f.pkg] = map[string]bool{}
		}
		for n := range f.names {
			all[f.pkg][n] = true
		}
	}
	return all
}

var (
	fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	ticked = regexp.MustCompile("`([^`\n]+)`")
	dotted = regexp.MustCompile(`^([a-z]+)\.([A-Za-z]\w*(?:\.\w+)?)$`)
	step   = regexp.MustCompile(`^  (\w+\.go) +(\S+(?:, \S+)*)(?:  |$)`)
)

// blocks are the fenced blocks of a text that are in a language.
func blocks(text, language string) (list []string) {
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			list = append(list, m[2])
		}
	}
	return list
}

// TestWays holds that each step of a way names a file, and what that file declares, and that
// a way fits on a screen.
func TestWays(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	ways := blocks(tr.texts[architecture], "text")
	if len(ways) != 4 {
		t.Errorf("%s has %d blocks of text, want the picture and three ways", architecture, len(ways))
	}
	for _, way := range ways[1:] {
		if n := strings.Count(way, "\n"); n > 45 {
			t.Errorf("a way has %d lines, want 45 at most:\n%s", n, way)
		}
		dir := ""
		for line := range strings.Lines(way) {
			line = strings.TrimRight(line, "\n")
			if len([]rune(line)) > 100 {
				t.Errorf("longer than 100 columns: %s", line)
			}
			if !strings.HasPrefix(line, " ") {
				dir, _, _ = strings.Cut(line, " ")
				continue
			}
			m := step.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("this line names no file and function: %q", line)
				continue
			}
			f := tr.files[dir+"/"+m[1]]
			if f == nil {
				t.Errorf("there is no file %s/%s", dir, m[1])
				continue
			}
			for name := range strings.SplitSeq(m[2], ", ") {
				if !f.names[name] {
					t.Errorf("%s/%s does not declare %s", dir, m[1], name)
				}
			}
		}
	}
}

// TestNames holds that every identifier which the document names is there: package.Name or
// package.Type.member.
func TestNames(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	known, found := tr.packages(), 0
	for _, m := range ticked.FindAllStringSubmatch(fenced.ReplaceAllString(tr.texts[architecture], ""), -1) {
		d := dotted.FindStringSubmatch(m[1])
		if d == nil || tr.bases[m[1]] {
			continue
		}
		if found++; !known[d[1]][d[2]] {
			t.Errorf("%s names %s, which no package declares", architecture, m[1])
		}
	}
	if found < 20 {
		t.Errorf("%s names %d identifiers, want more: are they found?", architecture, found)
	}
}

// TestExcerpt holds that the code in the document is that of the example.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	example, err := os.ReadFile(filepath.Join(root, "gateway/flow/example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	code := blocks(tr.texts[architecture], "go")
	if len(code) == 0 {
		t.Errorf("%s shows no code", architecture)
	}
	for _, c := range code {
		if !strings.Contains(string(example), c) {
			t.Errorf("gateway/flow/example_test.go has another code than\n%s", c)
		}
	}
}

// layer is a row of the document's table of layers.
type layer struct {
	name     string
	packages []string // with a star for all below
	imports  []string // names of layers
}

var layerRow = regexp.MustCompile(`(?m)^\| \*\*([a-z ]+)\*\* \| (.+?) \| (.+?) \|`)

// holds reports whether a package is in the layer, and how exactly it is named.
func (l *layer) holds(pkg string) (exactly int) {
	for _, p := range l.packages {
		if p == pkg {
			return len(p) + 1
		}
		if below, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(pkg+"/", below) {
			exactly = max(exactly, len(below))
		}
	}
	return exactly
}

// TestLayers holds that the packages import each other as the document's table says. A
// package is in the layer that names it most exactly.
func TestLayers(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	var layers []*layer
	for _, m := range layerRow.FindAllStringSubmatch(tr.texts[architecture], -1) {
		l := &layer{name: m[1]}
		for _, p := range ticked.FindAllStringSubmatch(m[2], -1) {
			l.packages = append(l.packages, p[1])
		}
		for name := range strings.SplitSeq(m[3], ", ") {
			l.imports = append(l.imports, strings.Trim(name, "* "))
		}
		layers = append(layers, l)
	}
	layerOf := func(pkg string) (best *layer) {
		most := 0
		for _, l := range layers {
			if n := l.holds(pkg); n > most {
				best, most = l, n
			}
		}
		return best
	}
	used := map[*layer]bool{}
	for name, f := range tr.files {
		pkg := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") || strings.HasSuffix(pkg, "test") {
			continue
		}
		from := layerOf(pkg)
		if from == nil {
			continue // commands, tools and suites
		}
		used[from] = true
		for _, to := range f.imports {
			if l := layerOf(to); l != nil && !slices.Contains(from.imports, l.name) && !slices.Contains(from.imports, "all") {
				t.Errorf("%s, of the layer %s, imports %s, of the layer %s", name, from.name, to, l.name)
			}
		}
	}
	for _, l := range layers {
		if !used[l] {
			t.Errorf("the layer %s has no package", l.name)
		}
	}
	if len(layers) < 8 {
		t.Errorf("%s has %d layers, want 8 or more", architecture, len(layers))
	}
}

var (
	places = regexp.MustCompile(`(?:^|[^\w/.@*}-])((?:\./)?(?:cmd|conformance|docs|examples|gateway|internal|plugins|providers|sdk|wasm-parsers)(?:/[\w.*{-]+)+)`)
	others = regexp.MustCompile(`^(?:docs|examples)/`) // folders of other projects, in comments
	goFile = regexp.MustCompile(`(?:^|[^\w/.*}-])(\w+\.go)\b`)
)

// there reports whether a path is in the tree, seen from a folder or from the root.
func there(name, dir string) bool {
	name = strings.TrimPrefix(strings.TrimSuffix(strings.TrimRight(name, ".-"), "/"), "./")
	if strings.Contains(name, "{") || strings.Contains(name, "/dist/") { // several; what make has built
		return true
	}
	if strings.HasSuffix(name, "_") { // what several begin with
		name += "*"
	}
	for _, from := range []string{root, filepath.Join(root, dir)} {
		for _, ext := range []string{"", ".go"} { // package.Type or a file without its ending
			if found, err := filepath.Glob(filepath.Join(from, name+ext)); err == nil && len(found) > 0 {
				return true
			}
		}
	}
	pkg, _, qualified := strings.Cut(path.Base(name), ".")
	return qualified && !strings.HasSuffix(name, ".go") && there(path.Join(path.Dir(name), pkg), dir)
}

// TestPaths holds that documents and comments name files and folders that are there.
func TestPaths(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	check := func(name, text string) {
		for _, m := range places.FindAllStringSubmatch(text, -1) {
			if elsewhere := strings.HasSuffix(name, ".go") && others.MatchString(m[1]); !elsewhere && !there(m[1], path.Dir(name)) {
				t.Errorf("%s names %s, which is not there", name, m[1])
			}
		}
		for _, m := range goFile.FindAllStringSubmatch(text, -1) {
			if !tr.bases[m[1]] {
				t.Errorf("%s names %s, and there is no such file", name, m[1])
			}
		}
	}
	for name, text := range tr.texts {
		if name == "CHANGELOG.md" { // tells of what was, too
			continue
		}
		check(name, text)
	}
	for name, f := range tr.files {
		for _, c := range f.comments {
			check(name, c)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([\w./-]*)(#[\w-]+)?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unnamed = regexp.MustCompile(`[^\w -]`) // what an anchor leaves out
)

// TestLinks holds that what documents link to is there.
func TestLinks(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	for name, text := range tr.texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to := name
			if m[1] != "" {
				to = path.Join(path.Dir(name), m[1])
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
			if m[2] != "" && !slices.ContainsFunc(heading.FindAllStringSubmatch(tr.texts[to], -1), func(h []string) bool {
				return m[2] == "#"+strings.ReplaceAll(unnamed.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")
			}) {
				t.Errorf("%s links to %s%s, and there is no such heading", name, m[1], m[2])
			}
		}
	}
}

var exported = regexp.MustCompile(`(?:^|[^\w/.])([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)

// TestComments holds that comments name identifiers of other packages that are there.
func TestComments(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	known := tr.packages()
	for name, f := range tr.files {
		for _, c := range f.comments {
			for _, m := range exported.FindAllStringSubmatch(c, -1) {
				if names := known[m[1]]; names != nil && !names[m[2]] && !f.foreign[m[1]] {
					t.Errorf("%s names %s.%s, which is not there", name, m[1], m[2])
				}
			}
		}
	}
}

var (
	command   = regexp.MustCompile(`go test( [^\n` + "`" + `]*?)?(?: \./([\w/-]+))[^\n` + "`" + `]*`)
	option    = regexp.MustCompile(`-(?:run|bench) '?([\w|/^$.]+)'?`)
	testNames = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)(?:/[\\w/]*)?`")
)

// TestCommands holds that the tests which documents name are there, in the package that a
// command names.
func TestCommands(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	tests := map[string][]string{} // by folder
	var all []string
	for name, f := range tr.files {
		for n := range f.names {
			tests[path.Dir(name)] = append(tests[path.Dir(name)], n)
			all = append(all, n)
		}
	}
	for name, text := range tr.texts {
		if name == "CHANGELOG.md" {
			continue
		}
		for _, m := range testNames.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(all, m[1]) {
				t.Errorf("%s names the test %s, which is not there", name, m[1])
			}
		}
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			for _, o := range option.FindAllStringSubmatch(m[0], -1) {
				for one := range strings.SplitSeq(o[1], "|") {
					one, _, _ = strings.Cut(strings.Trim(one, "^$"), "/")
					dirs := []string{m[2], path.Join(path.Dir(name), m[2]), path.Join("internal/e2e", m[2])}
					if !slices.ContainsFunc(dirs, func(dir string) bool {
						return slices.ContainsFunc(tests[dir], func(n string) bool { return strings.Contains(n, one) })
					}) {
						t.Errorf("%s says %q, and %s has no %s", name, m[0], m[2], one)
					}
				}
			}
		}
	}
}

const (
	longestLine   = 100  // characters of a line of a page
	longestReadme = 9216 // bytes of the README, which is to fit on a screen or two
)

// tooLong are the lines of a text that are too long and could be broken: none of a table or a
// block of code, and none that is one word, code or link.
func tooLong(text string) (lines []string) {
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(ticked.ReplaceAllString(line, "code")), "- "))
		if !code && !strings.HasPrefix(line, "|") && len([]rune(line)) > longestLine && len(words) > 1 {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestLines holds that the README is short, and that lines are of a length that can be read and
// compared.
func TestLines(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	pages := 0
	for name, text := range tr.texts {
		if name != "README.md" && path.Dir(name) != "docs" {
			continue
		}
		pages++
		for _, line := range tooLong(text) {
			t.Errorf("%s has a line of %d characters, want %d at most: %s", name, len([]rune(line)), longestLine, line)
		}
	}
	if pages < 17 {
		t.Errorf("got %d pages, want 17 or more", pages)
	}
	if n := len(tr.texts["README.md"]); n > longestReadme {
		t.Errorf("README.md has %d bytes, want %d at most: what it says belongs into a page of docs", n, longestReadme)
	}
}

// TestTooLong holds that long lines are found, and only those that could be shorter.
func TestTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 25)
	table, code, span := "| "+long+"|\n", "```\n"+long+"\n```\n", "- `"+long+"`\n"
	if got := tooLong(table + code + span + "short\n"); len(got) != 0 {
		t.Errorf("got %q, want none", got)
	}
	for _, text := range []string{long, "- " + long, code + long, "`code` " + long} {
		if got := tooLong(text); len(got) != 1 {
			t.Errorf("%q: got %q, want a line", text, got)
		}
	}
}

// word is an expression that our texts do not have, and what they say in its place.
type word struct {
	pattern *regexp.Regexp
	better  string
}

func readWords(t *testing.T) (all []word) {
	t.Helper()
	text, err := os.ReadFile("testdata/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		pattern, better, ok := strings.Cut(strings.TrimSpace(line), "\t")
		re, err := regexp.Compile(`(?i)(?:^|\W)(` + pattern + `)(?:\W|$)`)
		if !ok || better == "" || err != nil {
			t.Fatalf("testdata/words.txt: bad line %q: %v", line, err)
		}
		all = append(all, word{re, better})
	}
	return all
}

// said are those of some words that a text has, each with what to say in its place. Code is
// passed over.
func said(all []word, text string) (found []string) {
	text = strings.Join(strings.Fields(ticked.ReplaceAllString(fenced.ReplaceAllString(text, ""), "code")), " ")
	for _, w := range all {
		for _, m := range w.pattern.FindAllStringSubmatch(text, -1) {
			found = append(found, strconv.Quote(m[1])+", say: "+w.better)
		}
	}
	return found
}

// otherWords are files whose strings are not ours: what models and people write, and what a demo
// answers.
var otherWords = regexp.MustCompile(`/(words|phrases|lexicon|adstudio)\w*\.go$|_test\.go$|testdata/|^gateway/internal/(guard|reference|toolresult|language)/`)

var identifier = regexp.MustCompile(`\w+`)

// codeIn are those of some words that are the names of packages, or are declared in a package: for its
// comments they are code.
func codeIn(all []word, pkg string, packages map[string]map[string]bool) map[string]bool {
	found := map[string]bool{}
	for n := range packages {
		found[n] = len(said(all, n)) > 0
	}
	for n := range packages[pkg] {
		for part := range strings.SplitSeq(n, ".") { // a type and its member
			found[part] = found[part] || len(said(all, part)) > 0
		}
	}
	return found
}

// TestWords holds that pages, messages, the helps of flags and comments have the field's words, and
// not those of testdata/words.txt. The helps are in docs/settings.md and in the strings of the code.
func TestWords(t *testing.T) {
	t.Parallel()
	tr, all := readTree(t), readWords(t)
	for name, text := range tr.texts {
		if strings.HasSuffix(name, ".md") && name != "CHANGELOG.md" && !strings.Contains(name, "testdata/") {
			for _, w := range said(all, text) {
				t.Errorf("%s has %s", name, w)
			}
		}
	}
	strs, comments, packages := 0, 0, tr.packages()
	code := map[string]map[string]bool{}
	for name, f := range tr.files {
		if code[f.pkg] == nil {
			code[f.pkg] = codeIn(all, f.pkg, packages)
		}
		for _, text := range f.comments {
			comments++
			prose := identifier.ReplaceAllStringFunc(text, func(w string) string {
				if code[f.pkg][w] {
					return "code"
				}
				return w
			})
			for _, w := range said(all, prose) {
				t.Errorf("%s has a comment with %s, in %.200q", name, w, text)
			}
		}
		if otherWords.MatchString(name) {
			continue
		}
		for _, text := range f.says {
			strs++
			for _, w := range said(all, text) {
				t.Errorf("%s has %s, in %.200q", name, w, text)
			}
		}
	}
	if len(all) < 20 || strs < 2000 || comments < 5000 {
		t.Errorf("got %d words, %d strings and %d comments, want more: are they found?", len(all), strs, comments)
	}
}

// TestSaid holds that words are found whatever their case and wherever a line breaks, and that
// code and words that only begin like them are not.
func TestSaid(t *testing.T) {
	t.Parallel()
	all := readWords(t)
	for _, text := range []string{"It is Mended.", "0s: for\never", "the operator's address", "Turned\ndown", "There is nothing here."} {
		if got := said(all, text); len(got) != 1 {
			t.Errorf("%q: got %q, want one word", text, got)
		}
	}
	for _, text := range []string{"a recommendation", "`relaxed`", "```\nfor ever\n```\n", "There is nothing here yet."} {
		if got := said(all, text); len(got) != 0 {
			t.Errorf("%q: got %q, want none", text, got)
		}
	}
}

// TestReached holds that the README leads to every page in one step.
func TestReached(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	for name := range tr.texts {
		if path.Dir(name) == "docs" && !strings.Contains(tr.texts["README.md"], "]("+name+")") {
			t.Errorf("README.md does not link to %s", name)
		}
	}
}

// TestQuestions holds that what users ask is answered by a page to which the README leads in one
// step, below a heading or in words that say it; where that is not the page's first screen, the README
// leads to the heading itself.
func TestQuestions(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	for question, answer := range map[string]struct {
		place string // a page, or a heading of it
		words []string
	}{
		"How do I put it in front of my server?":   {"docs/upstreams.md", []string{"## In front of your own server", "callgate serve --upstream", "callgate doctor"}},
		"What happens when an upstream fails?":     {"docs/failures.md", []string{"**Fallback**", "**Retries**"}},
		"How do I use three keys of a vendor?":     {"docs/routing.md#several-keys-or-servers", []string{"## Several keys or servers", "OPENAI_KEY_3"}},
		"What was repaired?":                       {"docs/repair.md#where-it-is-said", []string{"## Where it is said", "x-callgate-repairs", "/ui/requests/ID"}},
		"How do I run it in Docker?":               {"docs/deploy.md#the-image", []string{"docker run", "docker compose"}},
		"How do I change its file while it runs?":  {"docs/reload.md", []string{"/admin/reload", "SIGHUP"}},
		"What do I alert on?":                      {"docs/operations.md#alerts", []string{"## Alerts", "deploy/prometheus/rules.yaml"}},
		"How do I use it with LangChain?":          {"docs/clients.md#langchain", []string{"### LangChain"}},
		"How do I use it with Claude Code?":        {"docs/clients.md#claude-code", []string{"### Claude Code"}},
		"How do I use it with Codex?":              {"docs/clients.md#codex", []string{"### Codex"}},
		"How much latency does it add?":            {"docs/operations.md#where-time-goes", []string{"latency the gateway adds", "x-callgate-overhead-ms"}},
		"How do I have a new model's format read?": {"docs/plugins.md", []string{"callgate plugin new"}},
	} {
		if !strings.Contains(tr.texts["README.md"], "]("+answer.place+")") {
			t.Errorf("%s README.md does not lead to %s", question, answer.place)
		}
		page, _, _ := strings.Cut(answer.place, "#")
		for _, words := range answer.words {
			if !strings.Contains(tr.texts[page], words) {
				t.Errorf("%s %s does not say %q", question, page, words)
			}
		}
	}
}

// TestClients holds that the client page shows the settings that conformance/clients has. What
// else the page shows is run by TestPages and TestApps of internal/e2e/clients.
func TestClients(t *testing.T) {
	t.Parallel()
	page := readTree(t).texts["docs/clients.md"]
	names, err := filepath.Glob(filepath.Join(root, "conformance/clients/*/*"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		language := strings.TrimPrefix(path.Ext(name), ".")
		if language != "toml" && language != "json" {
			continue
		}
		if found++; !slices.Contains(blocks(page, language), string(text)) {
			t.Errorf("docs/clients.md does not show %s as it is", name)
		}
	}
	if found < 2 {
		t.Errorf("got %d files of settings, want 2 or more: are they found?", found)
	}
}

var metric = regexp.MustCompile(`\bcallgate_[a-z_0-9]*[a-z0-9]\b`)

// TestMetrics holds that the metrics which pages name are there.
func TestMetrics(t *testing.T) {
	t.Parallel()
	known := ""
	for _, name := range []string{"gateway/observe/table.go", "gateway/metrics/live.go", "gateway/metrics/testdata/scrape.txt"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		known += string(text)
	}
	names, found := map[string]bool{}, 0
	for _, m := range metric.FindAllString(known, -1) {
		names[m] = true
	}
	for page, text := range readTree(t).texts {
		if page != "README.md" && path.Dir(page) != "docs" {
			continue
		}
		for _, m := range metric.FindAllString(text, -1) {
			if found++; !names[m] {
				t.Errorf("%s names the metric %s, which is not there", page, m)
			}
		}
	}
	if found < 15 {
		t.Errorf("got %d names of metrics, want more: are they found?", found)
	}
}

var (
	// codeSet is the code of an error, where it is made and in the table of kinds.
	codeSet = regexp.MustCompile(`(?m)\bCode(?:: +| = )"([a-z_]+)"|^\t[A-Z]\w+: +\{http\.Status\w+, [\w"]+, "([a-z_]+)"|^\t[A-Z]\w+: +\{499, \w+, "([a-z_]+)"`)
	// thingSet is what an operator has named and is not there, whose code ends in _not_found.
	thingSet = regexp.MustCompile(`\bnotThere\("([a-z]+)"`)
	// headerSet is a header of ours.
	headerSet = regexp.MustCompile(`"(?i:x-callgate)((?:-\w+)+)"`)
)

// noHeaders are headers that docs/reference.md leaves out.
var noHeaders = []string{
	"-trick",  // a demo model is told by it what to get wrong
	"-cursor", // callgate usage turns the pages with it
}

// TestReference holds that the reference has each code of an error, and each header of ours.
func TestReference(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	page := tr.texts["docs/reference.md"]
	codes, things, headers := 0, 0, 0
	for name := range tr.files {
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "gateway/") && !strings.HasPrefix(name, "internal/cli/") || strings.Contains(name, "/consoletest/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeSet.FindAllSubmatch(text, -1) {
			if code := string(slices.Concat(m[1:]...)); !strings.Contains(page, "`"+code+"`") {
				t.Errorf("%s: docs/reference.md lacks the error %s", name, code)
			}
			codes++
		}
		for _, m := range thingSet.FindAllSubmatch(text, -1) {
			if code := string(m[1]) + "_not_found"; !strings.Contains(page, "`"+code+"`") {
				t.Errorf("%s: docs/reference.md lacks the error %s", name, code)
			}
			things++
		}
		for _, m := range headerSet.FindAllSubmatch(text, -1) {
			end := strings.ToLower(string(m[1]))
			if !strings.Contains(page, end+"`") && !slices.Contains(noHeaders, end) {
				t.Errorf("%s: docs/reference.md lacks the header x-callgate%s", name, end)
			}
			headers++
		}
	}
	if codes < 40 || things < 5 || headers < 30 {
		t.Errorf("got %d codes, %d things and %d headers, want more: are they found?", codes, things, headers)
	}
}

// TestDemoCount holds that pages which say how many requests the demo sends say what its picture
// shows, which a test compares with what the demo prints.
func TestDemoCount(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	picture, err := os.ReadFile("demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`Callgate (\d+) of`).FindSubmatch(picture)
	if shown == nil {
		t.Fatal("demo.svg has no totals")
	}
	for _, name := range []string{"README.md", "docs/quickstart.md"} {
		if want := "sends " + string(shown[1]) + " requests"; !strings.Contains(tr.texts[name], want) {
			t.Errorf("%s lacks %q, which demo.svg shows", name, want)
		}
	}
}
