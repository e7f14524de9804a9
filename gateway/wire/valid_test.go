package wire_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/wire"
)

// TestValid holds what is taken, what is not, and what is too much for a pass without memory.
func TestValid(t *testing.T) {
	t.Parallel()
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"n%d":1,`, i)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	}
	for text, want := range map[string]bool{
		`{"a":[1,2.5e+3,-0,"x\n\u00e9\ud83d\ude00",true,false,null,{}],"b":[]}`: true,
		" \t\r\n{ } \n": true, `"ä€😀"`: true, `0`: true, `[[[]]]`: true, names(128): true,
		``: false, ` `: false, `{`: false, `[1,]`: false, `{"a":1,}`: false, `{"a"}`: false, `{a:1}`: false, `[1 2]`: false, `{}{}`: false,
		`01`: false, `-`: false, `1.`: false, `.5`: false, `1e`: false, `+1`: false, `NaN`: false, `tru`: false, `nul`: false,
		`"a`: false, "\"a\nb\"": false, `"\x41"`: false, `"\u12g4"`: false, `"\ud800"`: false, `"\udc00"`: false, `"\ud800\u0041"`: false,
		"\"\xff\"": false, "\"\xed\xa0\x80\"": false, `{"a":1,"a":2}`: false, `{"a":1,"\u0061":2}`: false, `{"a":{"a":1},"b":{"a":1}}`: true,
		names(129): false, strings.Repeat("[", 129) + strings.Repeat("]", 129): false,
	} {
		if _, ok := wire.Valid([]byte(text), 128); ok != want {
			t.Errorf("%.60q: got %t, want %t", text, ok, want)
		}
	}
}

// checkValid holds that what Valid takes is JSON for the library too, has no name twice and the measures
// that Measure finds, and that it takes all that it has no reason to leave.
func checkValid(t interface{ Fatalf(string, ...any) }, text []byte) {
	m, ok := wire.Valid(text, 128)
	measured := wire.Measure(text, 128)
	strict := jsontext.Value(text).IsValid() // which refuses names that are there twice
	if ok && (!strict || m != measured) {
		t.Fatalf("%q: taken, with %+v; the library says %t, and the measures are %+v", text, m, strict, measured)
	}
	if !ok && strict && measured.Open <= 128 && measured.TooDeep < 0 {
		t.Fatalf("%q: not taken, and the library takes it", text)
	}
	if !ok && m.TooDeep >= 0 && m.TooDeep != measured.TooDeep {
		t.Fatalf("%q: too deep at %d, and not at %d", text, m.TooDeep, measured.TooDeep)
	}
}

// TestValidLikeLibrary compares with the library on texts of JSON that were damaged a little, or not.
func TestValidLikeLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(anyJSON(t, 4))
		for range rapid.IntRange(0, 2).Draw(t, "faults") {
			if len(text) == 0 {
				break
			}
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "fault") {
			case 0:
				text[at] = rapid.Byte().Draw(t, "byte")
			case 1:
				text = append(text[:at], text[at+1:]...)
			case 2:
				text = append(text[:at:at], append([]byte(rapid.SampledFrom([]string{`"`, `\`, `{`, `]`, `,`, `\ud800`, "\x00", "\xc3", "1"}).Draw(t, "piece")), text[at:]...)...)
			}
		}
		checkValid(t, text)
	})
}

// anyJSON is a text of JSON with odd strings, numbers and spaces.
func anyJSON(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t"}).Draw(t, "space")
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind = min(kind, 3)
	}
	switch kind {
	case 0:
		return space + rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word") + space
	case 1:
		return space + rapid.SampledFrom([]string{"0", "-1.5", "1e9", "2E-3", "123456789012345678901234567890", "-0.0e+00"}).Draw(t, "number")
	case 2, 3:
		return jsonString(t) + space
	}
	parts := make([]string, rapid.IntRange(0, 4).Draw(t, "parts"))
	for i := range parts {
		if kind == 5 {
			parts[i] = jsonString(t) + space + ":"
		}
		parts[i] += anyJSON(t, depth-1)
	}
	if kind == 5 {
		return "{" + space + strings.Join(parts, ",") + "}"
	}
	return space + "[" + strings.Join(parts, ",") + space + "]"
}

func jsonString(t *rapid.T) string {
	return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "plain words of a chat, ", `\n`, `\"`, `\\`, `\u0061`, `\ud83d\ude00`, `\ud800`, "ä", "€", "😀", "\x7f", "/", `\/`, "\u2028",
	}), 0, 5).Draw(t, "string"), "") + `"`
}

// FuzzValid compares with the library on whatever a fuzzer writes.
func FuzzValid(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e+3,-0,"x\n\u00e9\ud83d\ude00",true,null,{}]}`, `{"a":1,"a":2}`, "\"\xed\xa0\x80\"", `"\ud800"`} {
		f.Add([]byte(text))
	}
	files, _ := filepath.Glob(filepath.Join("testdata", "*.json"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkValid(t, text) })
}

// TestValidTakesNoMemory holds that it allocates nothing, whatever it reads.
func TestValidTakesNoMemory(t *testing.T) {
	text := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat(`words \n `, 1000) + `"}],"tools":[` + strings.TrimSuffix(strings.Repeat(`{"a":{"b":[]}},`, 100), ",") + `]}`)
	if n := testing.AllocsPerRun(10, func() {
		if _, ok := wire.Valid(text, 128); !ok {
			t.Error("not taken")
		}
	}); n != 0 {
		t.Errorf("got %g allocations, want none", n)
	}
}

// BenchmarkValid is a chat, beside the three passes that it is in place of.
func BenchmarkValid(b *testing.B) {
	text := []byte(`{"model":"m","messages":[{"role":"system","content":"` + strings.Repeat("You are a careful assistant. ", 20) + `"},{"role":"user","content":"Please write the file."}],` +
		`"tools":[{"type":"function","function":{"name":"write_file","description":"Write a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}}}]}`)
	for name, check := range map[string]func() bool{
		"one pass": func() bool { _, ok := wire.Valid(text, 128); return ok },
		"three": func() bool {
			m := wire.Measure(text, 128)
			return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) && wire.Repeated(text, 128, m.Open) < 0
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if !check() {
					b.Fatal("not taken")
				}
			}
		})
	}
}
