package usage_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/usage"
)

// usageCase is a provider's usage and what is made of it. Text that is no JSON is given
// as a string.
type usageCase struct {
	Name  string
	Usage json.RawMessage
	Want  struct {
		Reported, CacheReported, WriteReported                     bool
		Input, CacheRead, WriteShort, WriteLong, Output, Reasoning int
		Faults                                                     []string
	}
}

func readJSON[T any](t testing.TB, file string) T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

func (c *usageCase) object() []byte {
	var text string
	if json.Unmarshal(c.Usage, &text) == nil && string(c.Usage) != "null" {
		return []byte(text)
	}
	return c.Usage
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "azure", "dashscope", "moonshot", "deepseek", "xai", "vercel", "anthropic", "impossible"} {
		for _, c := range readJSON[[]usageCase](t, filepath.Join("testdata", "usage", provider+".json")) {
			t.Run(provider+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				got := usage.Read(c.object())
				if names := faultNames(got.Faults); !slices.Equal(names, c.Want.Faults) {
					t.Errorf("got the faults %q, want %q", names, c.Want.Faults)
				}
				want := usage.Usage{Reported: c.Want.Reported, CacheReported: c.Want.CacheReported, WriteReported: c.Want.WriteReported, Input: c.Want.Input, CacheRead: c.Want.CacheRead,
					WriteShort: c.Want.WriteShort, WriteLong: c.Want.WriteLong, Output: c.Want.Output, Reasoning: c.Want.Reasoning, Faults: got.Faults}
				if got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
}

// TestReadAllocates holds that the usage of an answer costs no memory, whoever wrote it.
func TestReadAllocates(t *testing.T) {
	for _, provider := range []string{"openai", "azure", "dashscope", "moonshot", "deepseek", "xai", "vercel", "anthropic"} {
		for _, c := range readJSON[[]usageCase](t, filepath.Join("testdata", "usage", provider+".json")) {
			object := c.object()
			if got := testing.AllocsPerRun(10, func() { usage.Read(object) }); got != 0 {
				t.Errorf("%s: got %v allocations, want 0", c.Name, got)
			}
		}
	}
}

// TestReadTwice holds that of a repeated key the last one counts, as for encoding/json.
func TestReadTwice(t *testing.T) {
	t.Parallel()
	got := usage.Read([]byte(`{"prompt_tokens":1,"prompt_tokens":7,"completion_tokens":2}`))
	if want := (usage.Usage{Reported: true, Input: 7, Output: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestThen holds what counts of an answer whose upstream tells its usage more than once.
func TestThen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, first, later, want string }{
		{"grows", `{"prompt_tokens":9,"completion_tokens":1}`, `{"prompt_tokens":9,"completion_tokens":5}`, `{"prompt_tokens":9,"completion_tokens":5}`},
		{"twice", `{"prompt_tokens":9,"completion_tokens":5}`, `{"prompt_tokens":9,"completion_tokens":5}`, `{"prompt_tokens":9,"completion_tokens":5}`},
		{"empty at the end", `{"prompt_tokens":9,"completion_tokens":5}`, `{}`, `{"prompt_tokens":9,"completion_tokens":5}`},
		{"empty at first", `{}`, `{"prompt_tokens":9,"completion_tokens":5}`, `{"prompt_tokens":9,"completion_tokens":5}`},
		{"in pieces", `{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}`, `{"completion_tokens":5}`, `{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens":5}`},
		{"the prompt last", `{"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":2}}`, `{"prompt_tokens":9}`, `{"prompt_tokens":9,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":2}}`},
		{"lies at first", `{"prompt_tokens":-9,"completion_tokens":1e99}`, `{"prompt_tokens":9,"completion_tokens":5}`, `{"prompt_tokens":9,"completion_tokens":5}`},
	} {
		if got, want := usage.Read([]byte(c.first)).Then(usage.Read([]byte(c.later))), usage.Read([]byte(c.want)); got != want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, want)
		}
	}
}

// checkUsage holds what is true of a usage whatever was read.
func checkUsage(t testing.TB, u usage.Usage) {
	t.Helper()
	for _, n := range []int{u.Input, u.CacheRead, u.WriteShort, u.WriteLong, u.Output, u.Fresh()} {
		if n < 0 || n > usage.MaxTokens {
			t.Errorf("got %+v with %d fresh tokens, want all from 0 to %d", u, u.Fresh(), usage.MaxTokens)
		}
	}
	if !u.Reported && u != (usage.Usage{}) {
		t.Errorf("got %+v, want nothing where nothing was reported", u)
	}
	if !u.CacheReported && u.CacheRead != 0 {
		t.Errorf("got %+v, want no reads where none were reported", u)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/usage/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("got no files (%v), want some", err)
	}
	for _, file := range files {
		for _, c := range readJSON[[]usageCase](f, file) {
			f.Add(c.object())
		}
	}
	f.Fuzz(func(t *testing.T, object []byte) { checkUsage(t, usage.Read(object)) })
}

// TestReadHostile reads large objects. In time that is not linear it would not end.
func TestReadHostile(t *testing.T) {
	t.Parallel()
	for _, object := range []string{
		`{` + strings.Repeat(`"prompt_tokens":1,`, 200_000) + `"completion_tokens":1}`,
		`{"prompt_tokens_details":` + strings.Repeat(`{"a":`, 500_000),
		`{"prompt_tokens":1` + strings.Repeat("0", 4<<20) + `}`,
		`{"prompt_tokens":1,"prompt_tokens_details":{` + strings.Repeat(`"cached_tokens":1,`, 200_000) + `"a":{}}}`,
	} {
		checkUsage(t, usage.Read([]byte(object)))
	}
}

func BenchmarkRead(b *testing.B) {
	cases := readJSON[[]usageCase](b, "testdata/usage/openai.json")
	object := cases[0].object()
	b.ReportAllocs()
	for b.Loop() {
		usage.Read(object)
	}
}

// faultNames lists the faults of a set.
func faultNames(f usage.Fault) (names []string) {
	for i, name := range []string{"not_a_count", "negative", "too_large", "over_input", "contradiction"} {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
