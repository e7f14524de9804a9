package yamldoc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

var limits = yamldoc.Limits{Bytes: 64 << 10, Depth: 8}

func read(text string) (*yamldoc.Node, string) {
	var r yamldoc.Problems
	n := yamldoc.Read([]byte(text), limits, &r)
	if err := r.Err("f"); err != nil {
		return n, err.Error()
	}
	return n, ""
}

// write writes a tree in one line, each value with its place.
func write(n *yamldoc.Node) string {
	switch n.Kind {
	case yamldoc.List:
		parts := make([]string, len(n.Items))
		for i, item := range n.Items {
			parts[i] = write(item)
		}
		return "[" + strings.Join(parts, " ") + "]"
	case yamldoc.Map:
		parts := make([]string, len(n.Entries))
		for i, e := range n.Entries {
			parts[i] = e.Key + ":" + write(e.Value)
		}
		return "{" + strings.Join(parts, " ") + "}"
	case yamldoc.Null:
		return "~"
	case yamldoc.Text:
		return `"` + n.Text + `"`
	default:
		return n.Text
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"scalars":           {"a: x\nb: 1.10\nc: true\nd: 'yes'\ne:\nf: 0x10\n", `{a:"x" b:1.10 c:true d:"yes" e:~ f:0x10}`},
		"lists":             {"- a\n- [b, 1]\n- {c: d}\n", `["a" ["b" 1] {c:"d"}]`},
		"a literal":         {"a: |\n  b\n   c\n", "{a:\"b\n c\n\"}"},
		"an alias":          {"a: &x {b: 1}\nc: *x\n", `{a:{b:1} c:{b:1}}`},
		"a merge":           {"a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", `{a:{b:1 c:2} d:{c:3 b:1}}`},
		"merges, the first": {"a: &x {b: 1}\nc: &y {b: 2}\nd: {<<: [*x, *y]}\n", `{a:{b:1} c:{b:2} d:{b:1}}`},
		"a byte order mark": {"\xef\xbb\xbfa: 1\n", `{a:1}`},
		"a wide literal":    {"a: |\n" + strings.Repeat(" ", 200) + "x\n", "{a:\"x\n\"}"},
		"a wide comment":    {"a: 1\n" + strings.Repeat(" ", 200) + "# x\n", "{a:1}"},
		"a wide line":       {"a: " + strings.Repeat("x", 200) + "\n", `{a:"` + strings.Repeat("x", 200) + `"}`},
		"stairs in brackets": {"a: [1\n" + strings.Join([]string{" ,1", "  ,1", "   ,1", "    ,1", "     ,1", "      ,1", "       ,1", "        ,1", "         ,1",
			"          ,1", "           ,1", "            ,1", "             ,1", "              ,1", "               ,1", "                ,1]"}, "\n"), "{a:[1" + strings.Repeat(" 1", 16) + "]}"},
		"as deep as allowed": {"a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}\n", "{a:{b:{c:{d:{e:{f:{g:{h:1}}}}}}}}"},
	} {
		n, problems := read(tt.text)
		if problems != "" || n == nil {
			t.Errorf("%s: got %s, want a tree", name, problems)
		} else if got := write(n); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
	if n, problems := read("# nothing\n"); n != nil || problems != "" {
		t.Errorf("an empty file: got %v and %s, want neither", n, problems)
	}
}

// TestPlaces holds that a value knows where it stands, and a mapping begins with its first
// key.
func TestPlaces(t *testing.T) {
	t.Parallel()
	n, _ := read("a:\n  - b: 1\n    c: [x]\n")
	list := n.Entries[0].Value
	first := list.Items[0]
	for _, tt := range []struct {
		what               string
		line, column       int
		wantLine, wantRune int
	}{
		{"the key a", n.Entries[0].Line, n.Entries[0].Column, 1, 1},
		{"the list", list.Line, list.Column, 2, 3},
		{"the mapping", first.Line, first.Column, 2, 5},
		{"b", first.Entries[0].Value.Line, first.Entries[0].Value.Column, 2, 8},
		{"x", first.Entries[1].Value.Items[0].Line, first.Entries[1].Value.Items[0].Column, 3, 9},
	} {
		if tt.line != tt.wantLine || tt.column != tt.wantRune {
			t.Errorf("%s: got %d:%d, want %d:%d", tt.what, tt.line, tt.column, tt.wantLine, tt.wantRune)
		}
	}
}

// TestRefused holds the bounds, and that no message repeats a value.
func TestRefused(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	stairs := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + line + "\n")
		}
		return b.String()
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'g'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 10) + "]\n"
	}
	for name, tt := range map[string]struct{ text, want string }{
		"bytes":              {"# " + strings.Repeat("x", 64<<10), "f: the file has 65538 bytes; the most is 64KiB"},
		"words":              {"a: [" + strings.Repeat("1,", 30_000) + "]", "f: the file has more than 50000 words and signs"},
		"brackets":           {"a: " + strings.Repeat("[", 20_000), "f:1:12: not YAML: the file nests more than 8 levels deep"},
		"braces":             {strings.Repeat("{a: ", 10_000), "f:1:33: not YAML: the file nests more than 8 levels deep"},
		"dashes":             {strings.Repeat("- ", 20_000), "f:1:17: not YAML: the file nests more than 8 levels deep"},
		"stairs":             {stairs(300, "a:"), "f:17:17: not YAML: the file nests more than 8 levels deep"},
		"stairs of dashes":   {stairs(300, "-"), "f:17:17: not YAML: the file nests more than 8 levels deep"},
		"levels":             {stairs(12, "a:"), "f:9:9: a.a.a.a.a.a.a.a: the file nests more than 8 levels deep"},
		"aliases":            {bomb, "f:5:29: e[7]: the file stands for more than 100000 values; use fewer aliases"},
		"an alias too early": {"a: *" + secret, "f:1:4: a: there is no anchor of this name before the alias; put text that begins with * in quotes"},
		"keys twice":         {"a: 1\nb: {c: 1, c: 2}\na: 2\n", "f:2:11: b.c: the key is here twice, first in line 2; keep one\nf:3:1: a: the key is here twice, first in line 1; keep one"},
		"a long key":         {strings.Repeat("k", 257) + ": 1", "f:1:1: a key has 257 bytes; the most is 256"},
		"no key":             {"~: 1\nb: 2\n", "f:1:1: a key must be plain text"},
		"a tag":              {"a: !!str b", "f:1:4: a: YAML tags such as !!str are not used here; leave it out, and put text in quotes"},
		"a merge of text":    {"a: {<<: " + secret + "}", "f:1:9: a: << merges a mapping or a list of mappings, got text"},
		"documents":          {"a: 1\n---\nb: 2\n", "f:2:1: the file holds more than one YAML document; keep one"},
		"a directive":        {"%YAML 1.2\n---\na: 1\n", "f:1:1: a YAML directive; leave the line out"},
		"bytes of no text":   {"a: 1\nb: \xff\n", "f:2:1: the line is not valid UTF-8; save the file as UTF-8"},
		"a tab":              {"a:\n\tb: " + secret + "\n", "f:2:1: not YAML: the line is indented with a tab; use spaces"},
		"a star":             {"a:\n  *: " + secret + "\n", "f:2:6: not YAML: a key * without quotes; write \"*\":"},
		"no space":           {"a:\n  b:" + secret + "\n  c: 1\n", "f:2:3: not YAML: unexpected key name; write a space behind the colon of a key"},
		"a colon in text":    {"a: b: " + secret + "\n", "f:1:4: not YAML: mapping value is not allowed in this context; put text that holds \": \" in quotes, and indent the keys of a mapping alike"},
		"no YAML":            {"a: {b: " + secret + "\n", "f:1:4: not YAML: could not find flow mapping end token '}'; close the { that is here"},
		"an open bracket":    {"a: [" + secret + "\n", "f:1:4: not YAML: sequence end token ']' not found; close the [ that is here"},
		"a line too far out": {"a:\n  b:\n    c: 1\n   d: 2\n", "f:4:4: not YAML: value is not allowed in this context; indent the keys of a mapping alike"},
		"a variable":         {"a: {b: ${" + secret + "}}\n", "f:1:9: not YAML: ',' or '}' must be specified; inside { } and [ ] write \"${NAME}\" in quotes"},
	} {
		n, got := read(tt.text)
		if got != tt.want {
			t.Errorf("%s: got\n%.300s\nwant\n%s", name, got, tt.want)
		}
		if strings.Contains(got, secret) {
			t.Errorf("%s: got %s, which repeats a value of the file", name, got)
		}
		if readable := strings.Contains(name, "key") || name == "a merge of text"; readable == (n == nil) {
			t.Errorf("%s: got the tree %v, want one only where the rest can be read", name, n)
		}
	}
}

// TestProblems holds that a hundred problems are told, the rest are counted, and all are in
// the order of the file.
func TestProblems(t *testing.T) {
	t.Parallel()
	var r yamldoc.Problems
	for i := range 150 {
		r.Add(200-i, 1, "", "wrong")
	}
	var all *yamldoc.Error
	if err := r.Err("f"); !errors.As(err, &all) {
		t.Fatalf("got %v, want an Error", err)
	}
	if n := len(all.Problems); n != 101 || r.Len() != 150 || all.Problems[0].Line != 101 || all.Problems[100].Message != "and 50 more problems" {
		t.Errorf("got %d problems of %d, the first in line %d, the last %q", n, r.Len(), all.Problems[0].Line, all.Problems[n-1].Message)
	}
	if err := new(yamldoc.Problems).Err("f"); err != nil {
		t.Errorf("got %v, want no error without a problem", err)
	}
}

func TestUnknownKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"timeot":                 `f:3:5: models.timeot: unknown key "timeot"; did you mean "timeout"? known keys: timeout, targets`,
		"x":                      `f:3:5: models.x: unknown key "x"; known keys: timeout, targets`,
		"a.b":                    `f:3:5: models["a.b"]: unknown key "a.b"; known keys: timeout, targets`,
		strings.Repeat("ä", 100): `f:3:5: models["` + strings.Repeat("ä", 100) + `"]: unknown key "` + strings.Repeat("ä", 80) + `…"; known keys: timeout, targets`,
	} {
		var r yamldoc.Problems
		r.UnknownKey("models", yamldoc.Entry{Key: key, Line: 3, Column: 5}, []string{"timeout", "targets"})
		if got := r.Err("f").Error(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// FuzzRead holds that no file panics, and what a tree and its problems promise.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"a: &x {b: [1, 'c']}\nd: *x\n<<: *x\n", "- - - a\n", "a: |\n b\n", "a: 1\na: 2\n", "? [a]\n: b\n", "%YAML 1.2\n---\n", "{a: ${B}}", "\xff",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r yamldoc.Problems
		n := yamldoc.Read(data, limits, &r)
		lines, left := strings.Count(string(data), "\n")+strings.Count(string(data), "\r")+1, 100_000
		err, _ := r.Err("f").(*yamldoc.Error) //nolint:errorlint // it is made here
		if err != nil && (len(err.Problems) > 101 || len(err.Error()) > 101*4096) {
			t.Errorf("got %d problems of %d bytes", len(err.Problems), len(err.Error()))
		}
		for _, p := range problemsOf(err) {
			if p.Line > lines+1 {
				t.Errorf("got %+v in a file of %d lines", p, lines)
			}
		}
		if n != nil {
			check(t, n, lines, &left)
		}
	})
}

func problemsOf(e *yamldoc.Error) []yamldoc.Problem {
	if e == nil {
		return nil
	}
	return e.Problems
}

// check holds that a tree is within the bounds and that no key is there twice.
func check(t *testing.T, n *yamldoc.Node, lines int, left *int) {
	if *left--; *left < 0 {
		t.Fatal("the tree has more than 100,000 values")
	}
	if n.Line > lines+1 {
		t.Errorf("a value is in line %d of %d", n.Line, lines)
	}
	if n.Kind != yamldoc.List && len(n.Items) > 0 || n.Kind != yamldoc.Map && len(n.Entries) > 0 {
		t.Errorf("%s has %d items and %d entries", n.Kind, len(n.Items), len(n.Entries))
	}
	for _, item := range n.Items {
		check(t, item, lines, left)
	}
	seen := map[string]bool{}
	for _, e := range n.Entries {
		if seen[e.Key] {
			t.Errorf("the key %q is there twice", e.Key)
		}
		seen[e.Key] = true
		check(t, e.Value, lines, left)
	}
}
