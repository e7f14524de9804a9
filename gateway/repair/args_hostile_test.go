package repair_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/internal/steps"
)

// hostile are texts that are long in one way each.
func hostile(size int) map[string]string {
	fill := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, max(0, (size-len(head)-len(tail))/len(unit))) + tail
	}
	numbered := func(head, format, tail string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + tail
	}
	return map[string]string{
		"a string":               fill(`{"a":"`, "some text, ", `"}`),
		"a string of escapes":    fill(`{"a":"`, `\n\"`, `"}`),
		"a string of characters": fill(`{"a":"`, "é😀", `"}`),
		"a string of pairs":      fill(`{"a":"`, `\ud83d\ude00`, `"}`),
		"an open string":         fill(`{"a":"`, "x", ``),
		"single quotes":          fill("{'a':'", "it is \"so\" ", "'}"),
		"control characters":     fill(`{"a":"`, "\n", `"}`),
		"slips":                  fill("{a:[", "{'b': True, c: None,},", "]}"),
		"numbers":                fill(`{"a":[`, "1234.5e6, ", "0]}"),
		"a number":               fill(`{"a":`, "1", "}"),
		"a bad number":           fill(`{"a":`, "1.", "}"),
		"white space":            fill(`{`, " ", "}"),
		"white space in front":   fill(``, " ", ""),
		"white space behind":     fill(`{}`, " ", "x"),
		"commas":                 fill(`{"a":[`, ",", ""),
		"brackets":               fill("", "[", ""),
		"braces":                 fill("", "{", ""),
		"open objects":           fill("", `{"a":`, ""),
		"open arrays":            fill(`{"a":`, "[", ""),
		"halves of pairs":        fill(`"`, `\u`, ""),
		"first halves":           fill(`{"a":"`, `\ud83d`, `"}`),
		"a key":                  fill(`{"`, "k", `":1}`),
		"a bare key":             fill(`{`, "k", `:1}`),
		"keys":                   numbered(`{`, `"k%d":0,`, `"x":0}`),
		"bare keys":              numbered(`{`, `k%d:0,`, `x:0}`),
		"the same key":           fill(`{`, `"k":0,`, `"k":0}`),
		"small objects":          fill(`{"a":[`, `{"a":{"b":1,"c":2}},`, `0]}`),
		"objects in a row":       numbered(``, `{"a":%d}`, ``),
		"the same in a row":      fill(``, `{}`, ``),
		"open in a row":          fill(`{"a":1}`, `{`, ``),
		"a string of quotes":     fill(`"`, `\"`, `"`),
		"a string of an object":  fill(`"{\"a\":\"`, `xy`, `\"}"`),
		"strings of types":       fill(`{"o":"{\"a\":[`, `1,`, `1]}"}`),
		"nulls":                  fill("", "null", ""),
	}
}

// TestArgsHostile checks that work grows no faster than the text, whole and cut.
func TestArgsHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const size, factor = 2 << 10, 16
		small, large := hostile(size), hostile(size*factor)
		for name := range large {
			for _, piece := range []int{1 << 20, 256, 3} {
				t.Run(fmt.Sprintf("%s in pieces of %d", name, piece), func(t *testing.T) {
					work := func(text string) func() {
						return func() {
							a := new(repair.Args)
							a.Begin(fuzzTool(), nil, 0)
							for rest := []byte(text); len(rest) > 0; rest = rest[min(piece, len(rest)):] {
								a.Feed(rest[:min(piece, len(rest))])
							}
							a.End()
						}
					}
					steps.Linear(t, factor, work(small[name]), work(large[name]))
				})
			}
		}
	})
}

// TestArgsDeep checks that deep nesting is refused however deep it is, and that
// depth costs no stack.
func TestArgsDeep(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{129, 10_000, 1_000_000} {
		in := `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}"
		if _, _, problem := repair.JSON([]byte(in), 0); problem == nil || !strings.Contains(problem.Message, "nests deeper than 128") {
			t.Errorf("%d levels: got %v, want a problem", depth, problem)
		}
	}
	in := `{"a":` + strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999) + "}"
	if fixed, _, problem := repair.JSON([]byte(in), 10_000); problem != nil || string(fixed) != in {
		t.Errorf("10,000 levels of 10,000: got %v, want no problem", problem)
	}
}

// TestArgsMemory checks that a call costs no memory once another was as large.
func TestArgsMemory(t *testing.T) {
	a := new(repair.Args)
	tool := fuzzTool()
	for name, text := range map[string]string{"valid": callText(4096, false), "broken": callText(4096, true)} {
		in := []byte(text)
		got := testing.AllocsPerRun(100, func() {
			a.Begin(tool, nil, 0)
			for i := 0; i < len(in); i += 16 {
				a.Feed(in[i:min(i+16, len(in))])
			}
			a.End()
		})
		if got > 2 {
			t.Errorf("%s: %v allocations a call, want at most 2", name, got)
		}
	}
}

// callText is arguments of about size bytes as editors of files have them, strict or with slips
// in every member.
func callText(size int, broken bool) string {
	var b strings.Builder
	b.WriteString(`{"edits": [`)
	for i := 0; b.Len() < size-90; i++ {
		if broken {
			fmt.Fprintf(&b, `{'path': 'src/file_%d.go', line: %d, replace_all: True, "text": "x :=	1\n",}, `, i, i)
		} else {
			fmt.Fprintf(&b, `{"path": "src/file_%d.go", "line": %d, "replace_all": true, "text": "x :=\t1\n"}, `, i, i)
		}
	}
	return b.String() + `null], "dry_run": false}`
}

func BenchmarkArgs(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"1KB", 1 << 10}, {"64KB", 64 << 10}, {"1MB", 1 << 20}} {
		for name, broken := range map[string]bool{"valid": false, "broken": true} {
			in := []byte(callText(size.bytes, broken))
			b.Run(size.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(in)))
				a, tool := new(repair.Args), fuzzTool()
				for b.Loop() {
					a.Begin(tool, nil, 0)
					a.Feed(in)
					if _, _, problem := a.End(); problem != nil {
						b.Fatal(problem)
					}
				}
			})
		}
	}
}

// BenchmarkArgsPieces is a call as it is streamed, a few bytes at a time.
func BenchmarkArgsPieces(b *testing.B) {
	in := []byte(callText(1<<10, false))
	b.ReportAllocs()
	a, tool := new(repair.Args), fuzzTool()
	for b.Loop() {
		a.Begin(tool, nil, 0)
		for i := 0; i < len(in); i += 4 {
			a.Feed(in[i:min(i+4, len(in))])
		}
		a.End()
	}
}

func BenchmarkJSON(b *testing.B) {
	in := []byte(callText(1<<10, false))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, problem := repair.JSON(in, 0); problem != nil {
			b.Fatal(problem)
		}
	}
}
