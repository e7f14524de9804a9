package repair_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
)

// brokenAnswer is a line of testdata/answers: an answer that should have been a JSON object, with the
// value that was meant and the kinds of its repairs, or with a part of what is said of it where it
// is refused. Types are those of the schema's members.
type brokenAnswer struct {
	Text    string
	Meant   json.RawMessage
	Repairs string
	Says    *string
	Types   map[string]string
}

func (b *brokenAnswer) form() *repair.Form {
	form := &repair.Form{Root: abi.Object}
	types := map[string]abi.Types{"integer": abi.Integer, "number": abi.Number, "boolean": abi.Boolean, "string": abi.String}
	for name, typ := range b.Types {
		if form.Tool == nil {
			form.Tool = &abi.Tool{Name: "answer"}
		}
		form.Tool.Params = append(form.Tool.Params, abi.Param{Name: name, Types: types[typ]})
	}
	return form
}

// readBroken calls f with each line of the corpus.
func readBroken(t testing.TB, f func(place string, b *brokenAnswer)) {
	t.Helper()
	files, err := filepath.Glob("testdata/answers/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
			var b brokenAnswer
			if err := json.Unmarshal(line, &b); err != nil {
				t.Fatalf("%s: line %d: %v", file, n+1, err)
			}
			f(strings.TrimSuffix(filepath.Base(file), ".jsonl")+"/"+string(rune('1'+n)), &b)
		}
	}
}

// TestAnswerCorpus reads each broken answer in pieces of every size, and compares what comes of it with
// what was meant when it was broken.
func TestAnswerCorpus(t *testing.T) {
	t.Parallel()
	repaired, refused := 0, 0
	readBroken(t, func(place string, b *brokenAnswer) {
		form := b.form()
		var a repair.Answer
		whole := ""
		for n := range min(len(b.Text), 40) {
			out, problem := readAnswer(&a, form, b.Text, n)
			if n == 0 {
				whole = out
			} else if out != whole {
				t.Errorf("%s: in pieces of %d it comes out as %q, whole as %q", place, n, out, whole)
				return
			}
			switch {
			case b.Says == nil && problem != nil:
				t.Errorf("%s: got the problem %q of %q", place, problem, b.Text)
				return
			case b.Says != nil && (problem == nil || !strings.Contains(problem.Message, *b.Says)):
				t.Errorf("%s: got %q, %v of %q, want a problem with %q", place, out, problem, b.Text, *b.Says)
				return
			}
		}
		if b.Says != nil {
			refused++
			if !strings.HasSuffix(b.Text, whole) {
				t.Errorf("%s: what is refused goes out as %q, want the end of %q", place, whole, b.Text)
			}
			return
		}
		repaired++
		if !sameJSON(t, []byte(whole), b.Meant) {
			t.Errorf("%s: got %s, want what was meant, %s", place, whole, b.Meant)
		}
		got, want := a.Repairs(), strings.Split(b.Repairs, ",")
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%s: got the repairs %q of %q, want %q", place, got, b.Text, want)
		}
		checkUnaltered(t, place, whole, b.Text)
	})
	t.Logf("%d repaired, %d refused", repaired, refused)
	if repaired+refused < 300 {
		t.Errorf("got %d broken answers, want 300", repaired+refused)
	}
}

// sameJSON compares two values, numbers by their digits.
func sameJSON(t *testing.T, got, want []byte) bool {
	t.Helper()
	var a, b any
	for text, to := range map[*[]byte]*any{&got: &a, &want: &b} {
		d := json.NewDecoder(bytes.NewReader(*text))
		d.UseNumber()
		if err := d.Decode(to); err != nil {
			t.Errorf("%v: %s", err, *text)
		}
	}
	return reflect.DeepEqual(a, b)
}

// checkUnaltered holds that each value of what came out stands in the text: numbers with their digits,
// strings with their characters, as the text writes them or as JSON would.
func checkUnaltered(t testing.TB, place, out, text string) {
	t.Helper()
	// A string within a string has its escapes twice, and one in single quotes has others: what
	// is left without backslashes and control characters is the same.
	escapes := strings.NewReplacer(`\n`, "", `\t`, "", `\r`, "", `\b`, "", `\f`, "") // in one pass: what is left makes no new ones
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' || r == '\\' || r == '"' || r == '\'' {
				return -1
			}
			return r
		}, escapes.Replace(s))
	}
	stripped := plain(text)
	d := json.NewDecoder(strings.NewReader(out))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return
		}
		switch v := token.(type) {
		case json.Number:
			if !strings.Contains(text, v.String()) {
				t.Errorf("%s: the number %s does not stand in %q", place, v, text)
			}
		case string:
			if !strings.Contains(stripped, plain(v)) && !strings.Contains(text, `\u`) {
				t.Errorf("%s: the string %q does not stand in %q", place, v, text)
			}
		case bool:
			if !strings.Contains(strings.ToLower(text), relaxedWord(v)) {
				t.Errorf("%s: %v does not stand in %q", place, v, text)
			}
		}
	}
}

func relaxedWord(v bool) string {
	if v {
		return "true"
	}
	return "false"
}

// FuzzAnswer holds of any text: how it is cut does not matter; what is no problem is strict JSON, of
// whose values each stands in the text, and which is the text itself where no repair is named.
func FuzzAnswer(f *testing.F) {
	readBroken(f, func(_ string, b *brokenAnswer) { f.Add(b.Text, 3, byte(0)) })
	forms := []*repair.Form{{Root: abi.Object}, {}, {Root: abi.Array | abi.String}, {Root: abi.Object, Tool: &abi.Tool{Params: []abi.Param{{Name: "n", Types: abi.Integer}}}}}
	f.Fuzz(func(t *testing.T, text string, cut int, kind byte) {
		form := forms[int(kind)%len(forms)]
		var a, other repair.Answer
		out, problem := readAnswer(&a, form, text, 0)
		again, second := readAnswer(&other, form, text, 1+max(cut, -cut)%16)
		if out != again || (problem == nil) != (second == nil) || !slices.Equal(a.Repairs(), other.Repairs()) || a.Holding() {
			t.Fatalf("%q comes out as %q, %v, %q; in pieces as %q, %v, %q", text, out, problem, a.Repairs(), again, second, other.Repairs())
		}
		if problem != nil {
			return
		}
		if strings.TrimSpace(text) == "" {
			return
		}
		strict, _, ok := relaxed.Value([]byte(out), 0)
		if !ok || string(strict) != strings.Trim(out, " \t\r\n") || !json.Valid([]byte(out)) {
			t.Fatalf("%q comes out as %q, which is no strict JSON", text, out)
		}
		if len(a.Repairs()) == 0 && out != text {
			t.Fatalf("%q comes out as %q, and nothing is said", text, out)
		}
		checkUnaltered(t, "fuzz", out, text)
	})
}
