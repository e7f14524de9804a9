package relaxed_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk/relaxed"
)

// testCase is one line of testdata/cases.jsonl: text of a model and the strict JSON
// that comes out, or the place of the byte that cannot be read and what was
// written before it.
type testCase struct {
	Why    string `json:"why"`
	In     string `json:"in"`
	Out    string `json:"out"`
	Mended string `json:"mended"`
	Bad    *int   `json:"bad"`
}

func readCases(tb testing.TB) []testCase {
	tb.Helper()
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var cases []testCase
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c testCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatalf("line %d: %v", len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// result is all that a reading gives.
type result struct {
	out     string
	repairs relaxed.Repairs
	bad     int // place of the byte that could not be read, or -1
	tokens  string
}

// read reads src in pieces of the given size, without what follows the value.
func read(src []byte, size, maxDepth int) result {
	r := relaxed.NewReader(maxDepth)
	res := result{bad: -1}
	var out []byte
	at := 0
	for at < len(src) {
		piece := src[at:min(at+size, len(src))]
		n, tok := r.Feed(piece)
		at += n
		out = append(out, r.Out...)
		r.Out = r.Out[:0]
		switch tok {
		case relaxed.More:
			continue
		case relaxed.Key:
			res.tokens += fmt.Sprintf("%d@%d %q %d\n", tok, at, r.Key(), r.Depth())
		case relaxed.Done: // only white space may follow
			rest := bytes.TrimLeft(src[at:], " \t\r\n")
			if at = len(src) - len(rest); len(rest) > 0 {
				res.bad = at
			}
			at = len(src)
			continue
		default:
			res.tokens += fmt.Sprintf("%d@%d %d\n", tok, at, r.Depth())
		}
		if tok == relaxed.Bad {
			res.bad = at
			break
		}
	}
	if res.bad < 0 && r.End() == relaxed.Bad {
		res.bad = at
	}
	res.out, res.repairs = string(append(out, r.Out...)), r.Repaired()
	return res
}

// readTo is read without a look inside the value. It knows no tokens.
func readTo(src []byte, size, maxDepth int) result {
	r := relaxed.NewReader(maxDepth)
	res := result{bad: -1}
	at := 0
	for at < len(src) {
		piece := src[at:min(at+size, len(src))]
		var n int
		var tok relaxed.Token
		if r.Depth() > 0 {
			n, tok = r.FeedTo(piece, 0)
		} else {
			n, tok = r.Feed(piece)
		}
		at += n
		if tok == relaxed.Bad {
			res.bad = at
			break
		}
		if tok == relaxed.Done {
			rest := bytes.TrimLeft(src[at:], " \t\r\n")
			if len(rest) > 0 {
				res.bad = len(src) - len(rest)
			}
			at = len(src)
		}
	}
	if res.bad < 0 && r.End() == relaxed.Bad {
		res.bad = at
	}
	res.out, res.repairs = string(r.Out), r.Repaired()
	return res
}

func mended(r relaxed.Repairs) string {
	var s []string
	for i, name := range []string{"trailing_comma", "single_quotes", "python_word", "control_char", "bare_key", "quote_escape"} {
		if r&(1<<i) != 0 {
			s = append(s, name)
		}
	}
	return strings.Join(s, " ")
}

func TestReader(t *testing.T) {
	t.Parallel()
	for _, c := range readCases(t) {
		t.Run(c.Why, func(t *testing.T) {
			t.Parallel()
			got := read([]byte(c.In), len(c.In)+1, 0)
			if got.out != c.Out {
				t.Errorf("output of %q = %q, want %q", c.In, got.out, c.Out)
			}
			if c.Bad == nil && mended(got.repairs) != c.Mended {
				t.Errorf("repairs of %q = %q, want %q", c.In, mended(got.repairs), c.Mended)
			}
			if c.Bad != nil && got.bad != *c.Bad {
				t.Errorf("bad byte of %q at %d, want %d", c.In, got.bad, *c.Bad)
			}
			for size := 1; size <= len(c.In); size++ {
				cut := read([]byte(c.In), size, 0)
				if cut != got {
					t.Fatalf("%q in pieces of %d: %+v, want %+v", c.In, size, cut, got)
				}
				cut.tokens = ""
				if blind := readTo([]byte(c.In), size, 0); blind != cut {
					t.Fatalf("%q in pieces of %d without tokens: %+v, want %+v", c.In, size, blind, cut)
				}
			}
		})
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	for _, c := range readCases(t) {
		strict, _, ok := relaxed.Value([]byte(c.In), 0)
		if want := c.Bad == nil; ok != want {
			t.Errorf("Value(%q) ok = %v, want %v", c.In, ok, want)
		}
		if ok && string(strict) != c.Out {
			t.Errorf("Value(%q) = %q, want %q", c.In, strict, c.Out)
		}
	}
}

func TestReaderDepth(t *testing.T) {
	t.Parallel()
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for _, tt := range []struct{ depth, limit, bad int }{{3, 3, -1}, {4, 3, 3}, {128, 0, -1}, {129, 0, 128}} {
		if got := read(deep(tt.depth), 1000, tt.limit).bad; got != tt.bad {
			t.Errorf("depth %d with limit %d: bad = %d, want %d", tt.depth, tt.limit, got, tt.bad)
		}
	}
}

func TestReaderReset(t *testing.T) {
	t.Parallel()
	r := relaxed.NewReader(0)
	r.Feed([]byte("{'a': ["))
	r.Reset()
	if _, tok := r.Feed([]byte("[1]")); tok != relaxed.ArrayOpen || r.Depth() != 1 || r.Repaired() != 0 {
		t.Errorf("after Reset: token %d, depth %d, repairs %d, want %d, 1, 0", tok, r.Depth(), r.Repaired(), relaxed.ArrayOpen)
	}
}

func TestValueKind(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]relaxed.Token{
		" {} ": relaxed.ObjectOpen, "[{}]": relaxed.ArrayOpen, "'x'": relaxed.String, "12": relaxed.Number,
		" -1.5 ": relaxed.Number, "True": relaxed.Bool, "None": relaxed.Null, "x": relaxed.Bad, "1 2": relaxed.Bad,
	} {
		if _, got, _ := relaxed.Value([]byte(in), 0); got != want {
			t.Errorf("kind of %q = %d, want %d", in, got, want)
		}
	}
}

func TestUnquote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"a"`: "a", `""`: "", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u00e9"`: "é",
		`"\ud83d\ude00!"`: "😀!", `"\ud83d"`: "\ufffd", `"\ud83d\u0041"`: "\ufffdA", `"\uDE00x"`: "\ufffdx",
	} {
		if got, ok := relaxed.Unquote([]byte(in)); !ok || string(got) != want {
			t.Errorf("Unquote(%s) = %q, %v, want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{``, `"`, `a`, `"a`, `a"`, `"\"`, `"a"b"`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\""} {
		if got, ok := relaxed.Unquote([]byte(in)); ok {
			t.Errorf("Unquote(%s) = %q, want not ok", in, got)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": `""`, "a'<&>": `"a'<&>"`, "\"\\": `"\"\\"`, "\n\t\r\x00\x1f": `"\n\t\r\u0000\u001f"`, "S\xe3o é": "\"S\xe3o é\"",
	} {
		if got := string(relaxed.AppendString(nil, []byte(in))); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", in, got, want)
		}
	}
}

func ExampleValue() {
	strict, _, ok := relaxed.Value([]byte(`{'city': 'Oslo', days: None,}`), 0)
	fmt.Println(string(strict), ok)
	// Output: {"city": "Oslo", "days": null} true
}

// FuzzReader holds the reader to what its documentation promises.
func FuzzReader(f *testing.F) {
	for _, c := range readCases(f) {
		f.Add([]byte(c.In))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		const maxDepth = 50
		whole := read(src, len(src)+1, maxDepth)
		for _, size := range []int{1, 2, 3, 7} {
			if cut := read(src, size, maxDepth); cut != whole {
				t.Fatalf("%q in pieces of %d: %+v, want %+v", src, size, cut, whole)
			}
		}
		without := whole
		without.tokens = ""
		for _, size := range []int{1, 5, len(src) + 1} {
			if blind := readTo(src, size, maxDepth); blind != without {
				t.Fatalf("%q in pieces of %d without tokens: %+v, want %+v", src, size, blind, without)
			}
		}
		strict, _, ok := relaxed.Value(src, maxDepth)
		if ok != (whole.bad < 0) {
			t.Fatalf("Value(%q) ok = %v, the reader says %+v", src, ok, whole)
		}
		if ok && !json.Valid(strict) {
			t.Fatalf("Value(%q) = %q, which is not valid JSON", src, strict)
		}
		if ok && !bytes.Equal(bytes.TrimSpace(strict), strict) {
			t.Fatalf("Value(%q) = %q, with white space around it", src, strict)
		}
		if valid := json.Valid(src) && depth(src) <= maxDepth; valid && (!ok || string(strict) != string(bytes.Trim(src, " \t\r\n"))) {
			t.Fatalf("Value(%q) = %q, %v, want it unchanged", src, strict, ok)
		}
	})
}

// FuzzText checks quoting and its reverse against encoding/json.
func FuzzText(f *testing.F) {
	f.Add("a\"\\\n\x00é😀")
	f.Fuzz(func(t *testing.T, s string) {
		quoted := relaxed.AppendString(nil, []byte(s))
		if !json.Valid(quoted) {
			t.Fatalf("AppendString(%q) = %q, which is not valid JSON", s, quoted)
		}
		if back, ok := relaxed.Unquote(quoted); !ok || string(back) != s {
			t.Fatalf("Unquote(%q) = %q, %v, want %q", quoted, back, ok, s)
		}
	})
}

// depth is how deep valid JSON nests.
func depth(src []byte) int {
	d, most := 0, 0
	for dec := json.NewDecoder(bytes.NewReader(src)); ; {
		tok, err := dec.Token()
		if err != nil {
			return most
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			d++
			most = max(most, d)
		case json.Delim('}'), json.Delim(']'):
			d--
		}
	}
}

func BenchmarkValue(b *testing.B) {
	src := []byte(`{"path": "/tmp/a.txt", "content": "` + strings.Repeat("line of text, \\\"quoted\\\"\\n", 500) + `", "n": [1, 2.5, true, null]}`)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, _, ok := relaxed.Value(src, 0); !ok {
			b.Fatal("the value was refused")
		}
	}
}

// TestIsNumber compares with encoding/json, on all texts of a few bytes that look like numbers.
func TestIsNumber(t *testing.T) {
	t.Parallel()
	var try func(text string, left int)
	try = func(text string, left int) {
		if got, want := relaxed.IsNumber([]byte(text)), text != "" && json.Valid([]byte(text)); got != want {
			t.Errorf("IsNumber(%q) = %t, want %t", text, got, want)
		}
		if left > 0 {
			for _, c := range "012-+.eE" {
				try(text+string(c), left-1)
			}
		}
	}
	try("", 5)
}
