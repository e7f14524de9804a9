package reference_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/internal/steps"
)

// hostile are calls whose arguments or results have the size n.
var hostile = []struct {
	name     string
	argument string
	of       func(n int) (results []string, args string)
}{
	{"many objects", "id", func(n int) ([]string, string) { return []string{tasks(n)}, `{"id":"x"}` }},
	{"many results", "id", func(n int) ([]string, string) {
		return strings.Split(strings.Repeat(tasks(3)+"\n", n), "\n"), `{"id":"x"}`
	}},
	{"one title for all", "ids[]", func(n int) ([]string, string) {
		return []string{"[" + repeat(n, func(i int) string { return fmt.Sprintf(`{"id":%d,"title":"x"}`, i) }) + "]"}, `{"ids":[` + repeat(500, all(`"X"`)) + `]}`
	}},
	{"one object with many members", "id", func(n int) ([]string, string) {
		return []string{"{" + repeat(n, func(i int) string { return fmt.Sprintf(`"k%d":1,"id":%d`, i, i) }) + "}"}, `{"id":"x"}`
	}},
	{"empty objects", "id", func(n int) ([]string, string) { return []string{"[" + repeat(n, all("{}")) + "]"}, `{"id":"x"}` }},
	{"objects within objects", "id", func(n int) ([]string, string) {
		deep := strings.Repeat(`{"id":1,"title":"a","x":`, 126) + "1" + strings.Repeat("}", 126)
		return []string{"[" + repeat(n/100, all(deep)) + "]"}, `{"id":"x"}`
	}},
	{"brackets", "id", func(n int) ([]string, string) { return []string{strings.Repeat("[", n)}, `{"id":"x"}` }},
	{"backslashes", "id", func(n int) ([]string, string) {
		return []string{`{"id":"` + strings.Repeat(`\\`, n) + `","title":"` + strings.Repeat(`\"`, n) + `"}`}, `{"id":"x"}`
	}},
	{"JSON within strings", "id", func(n int) ([]string, string) {
		return []string{"[" + repeat(n, all(`"{\"id\":1,\"title\":\"a\"}"`)) + "]"}, `{"id":"x"}`
	}},
	{"broken JSON within strings", "id", func(n int) ([]string, string) {
		return []string{"[" + repeat(n, all(`"[[["`)) + `,{"id":1,"title":"a"}]`}, `{"id":"x"}`
	}},
	{"a wrapped result", "id", func(n int) ([]string, string) {
		return []string{`{"result":"` + strings.Repeat(`\\\"`, n) + `","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`}, `{"id":"x"}`
	}},
	{"words that are alike", "id", func(n int) ([]string, string) {
		title := strings.Repeat("do not ", 28)
		return []string{"[" + repeat(n, func(i int) string { return fmt.Sprintf(`{"id":%d,"title":"%snow"}`, i, title) }) + "]"}, `{"id":"` + title + `never"}`
	}},
	{"marks without a letter", "id", func(n int) ([]string, string) {
		return []string{`{"id":1,"title":"` + strings.Repeat("\u0301\u0323", n) + `"}`}, `{"id":"` + strings.Repeat("\u0323\u0301", n) + `a"}`
	}},
	{"plain texts that nearly have the word", "id", func(n int) ([]string, string) {
		return []string{tasks(1), strings.Repeat("1", n)}, `{"id":"` + strings.Repeat("1", 200) + `"}`
	}},
	{"many arguments", "ids[]", func(n int) ([]string, string) {
		return []string{tasks(5)}, `{"ids":[` + repeat(n, all(`"paint the fence"`)) + `]}`
	}},
	{"nulls", "ids[]", func(n int) ([]string, string) { return []string{tasks(5)}, `{"ids":[` + repeat(n, all(`null`)) + `]}` }},
	{"a long argument", "id", func(n int) ([]string, string) { return []string{tasks(5)}, `{"id":"` + strings.Repeat("é ", n) + `"}` }},
	{"deep arguments", "id", func(n int) ([]string, string) {
		return []string{tasks(5)}, `{"x":` + strings.Repeat(`{"x":`, n) + "1" + strings.Repeat("}", n+1)
	}},
}

// all repeats the same.
func all(s string) func(int) string { return func(int) string { return s } }

// TestResolveHostile compares the steps of a call and of one sixteen times as large.
func TestResolveHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const small, factor = 200, 16
		for _, tt := range hostile {
			t.Run(tt.name, func(t *testing.T) {
				rule := taskRule
				rule.Argument = tt.argument
				work := func(n int) func() {
					results, args := tt.of(n)
					c := listed(results...)
					return func() { reference.New([]reference.Rule{rule}, c).Resolve("complete_task", args) }
				}
				steps.Linear(t, factor, work(small), work(small*factor))
			})
		}
	})
}

// TestReadHostile does the same for what reads tools.
func TestReadHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, readHostile)
}

func readHostile(t *testing.T) {
	const small, factor = 100, 16
	declared := `{"x-reference":{"tool":"l","match":"t","value":"v"}}`
	for _, tt := range []struct {
		name string
		of   func(n int) string // a schema
	}{
		{"many properties", func(n int) string {
			return `{"properties":{` + repeat(n, func(i int) string { return fmt.Sprintf(`"p%d":%s`, i, declared) }) + `}}`
		}},
		{"many in one", func(n int) string { return `{` + repeat(n, all(`"x-reference":1`)) + `}` }},
		{"each refers to the next twice", func(n int) string {
			return `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + repeat(n, func(i int) string {
				return fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}},"x-reference":1}`, i, i+1, i+1)
			}) + `}}`
		}},
		{"deep", func(n int) string { return strings.Repeat(`{"items":`, n) + declared + strings.Repeat("}", n) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			work := func(n int) func() {
				schema := []byte(tt.of(n))
				tools := []byte(`[{"parameters":` + string(schema) + `}]`)
				return func() {
					reference.FromSchema("f", schema)
					reference.Strip(tools)
				}
			}
			steps.Linear(t, factor, work(small), work(small*factor))
		})
	}
}

// TestCallsHostile does the same for the calls and their results' parts.
func TestCallsHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, callsHostile)
}

func callsHostile(t *testing.T) {
	const small, factor = 200, 16
	for _, tt := range []struct {
		name string
		of   func(n int) (args, content string)
	}{
		{"deep arguments", func(n int) (string, string) {
			return strings.Repeat(`{"b":1,"a":`, n) + "1" + strings.Repeat("}", n), `"[]"`
		}},
		{"arguments with many members", func(n int) (string, string) {
			return "{" + repeat(n, func(i int) string { return fmt.Sprintf(`"k%d":1e1`, n-i) }) + "}", `"[]"`
		}},
		{"many parts", func(n int) (string, string) { return "{}", "[" + repeat(n, all(`{"type":"text","text":"["}`)) + "]" }},
		{"many parts, each of JSON", func(n int) (string, string) {
			return "{}", "[" + repeat(n, all(`{"type":"text","text":"[{\"id\":1,\"title\":\"a\"}]"}`)) + "]"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			work := func(n int) func() {
				args, content := tt.of(n)
				c := conversation.Read(fmt.Appendf(nil, `[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"list_tasks","arguments":%s}}]},`+
					`{"role":"tool","tool_call_id":"a","content":%s}]`, wire.AppendQuoted(nil, args), content))
				return func() { reference.New([]reference.Rule{taskRule}, c).Resolve("complete_task", `{"id":"x"}`) }
			}
			steps.Linear(t, factor, work(small), work(small*factor))
		})
	}
}

// TestLikenessIsBounded: titles of the same letters in other orders, with no blanks,
// defeat all that spares comparisons. Then nothing is said, and soon.
func TestLikenessIsBounded(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		title := func(int) string {
			runes := []rune(strings.Repeat("去超市买牛奶给妈妈打电话约医生看牙齿", 11))
			random.Shuffle(len(runes), func(i, j int) { runes[i], runes[j] = runes[j], runes[i] })
			return string(runes)
		}
		c := listed("[" + repeat(9_000, func(i int) string { return fmt.Sprintf(`{"id":%d,"title":"%s"}`, i, title(i)) }) + "]")
		r := reference.New([]reference.Rule{taskRule}, c)
		args := `{"id":"` + title(0) + `"}`
		cost := steps.Of(func() {
			for range 50 {
				if out, _, problem, checked := r.Resolve("complete_task", args); out != args || problem != nil || checked {
					t.Fatalf("got %.100s, %v and checked %v, want the arguments unchecked", out, problem, checked)
				}
			}
		})
		if most := uint64(1_000_000_000); cost.Steps > most {
			t.Errorf("got %d steps for 50 calls, want at most %d", cost.Steps, most)
		}
	})
}

// longTalk is a conversation of n calls of two tools with their results. Calls of one
// of them ask for different pages.
func longTalk(n int) *conversation.Conversation {
	var results []result
	for i := range n {
		if i%2 == 0 {
			results = append(results, result{Tool: "read_file", Content: []byte(`"package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) }\n"`)})
			continue
		}
		content := repeat(3, func(k int) string {
			return fmt.Sprintf(`{"id":%d,"title":"Prepare the %s report","done":false,"tags":["work"],"due":"2026-11-%02d"}`, 3*i+k, letters(3*i+k), 1+i%28)
		})
		page := fmt.Appendf(nil, `{"page":%d}`, i) // so that none takes the place of another
		results = append(results, result{Args: page, Content: []byte(`{"tasks":[` + content + `],"next":null}`)})
	}
	return conversation.Read(talk(results))
}

// repeatedTalk is the same, but for calls that all ask for the same.
func repeatedTalk(n int) *conversation.Conversation {
	return conversation.Read(regexp.MustCompile(`\{\\"page\\":\d+\}`).ReplaceAll(longTalk(n).Text, []byte("{}")))
}

func BenchmarkResolve(b *testing.B) {
	rules := []reference.Rule{taskRule}
	long := longTalk(2500)
	for _, bb := range []struct {
		name, args string
		c          *conversation.Conversation
	}{
		{"5001 messages, known", `{"id":7499}`, long},
		{"5001 messages, exact", `{"id":"Prepare the bcd report"}`, long},
		{"5001 messages, fuzzy", `{"id":"Prepare the bcd reports"}`, long},
		{"5001 messages, no reference", `{"note":"x"}`, long},
		{"5001 messages of the same calls, exact", `{"id":"Prepare the dret report"}`, repeatedTalk(2500)},
		{"20 messages, fuzzy", `{"id":"Prepare the dd reports"}`, longTalk(7)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.c.Text)))
			b.ReportAllocs()
			for b.Loop() {
				fresh := &conversation.Conversation{Text: bb.c.Text, Messages: bb.c.Messages} // one keeps what was asked of it
				reference.New(rules, fresh).Resolve("complete_task", bb.args)
			}
		})
	}
}

func BenchmarkStrip(b *testing.B) {
	tool := func(member string) string {
		return `{"type":"function","function":{"name":"f","description":"Completes a task.","parameters":{"type":"object","properties":{"id":{"type":"integer"` + member + `},"note":{"type":"string"}}}}}`
	}
	for _, bb := range []struct{ name, member string }{
		{"nothing to cut", ""},
		{"one in each tool", `,"x-reference":{"tool":"list_tasks","match":"title","value":"id"}`},
	} {
		tools := []byte("[" + repeat(50, all(tool(bb.member))) + "]")
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(tools)))
			b.ReportAllocs()
			for b.Loop() {
				reference.Strip(tools)
			}
		})
	}
}
