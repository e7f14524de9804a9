package demo_test

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/demo"
)

func TestModels(t *testing.T) {
	t.Parallel()
	got, err := fast().Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Concat(demo.Formats(), []string{demo.Echo}, demo.Faults(), demo.Guards(), demo.Structured(), demo.NoTools(), demo.Scripts()); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	seen := map[string]bool{}
	for _, name := range got {
		if seen[name] {
			t.Errorf("the name %s stands for two models", name)
		}
		seen[name] = true
	}
}

// TestFaultsAreDocumented checks that the tables of the package's comment have the
// faults and the models that need a guard, all and in their order.
func TestFaultsAreDocumented(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "demo.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile(`(?m)^\t([a-z_]+) {2,}\S`).FindAllStringSubmatch(f.Doc.Text(), -1) {
		got = append(got, row[1])
	}
	if want := slices.Concat(demo.Faults(), demo.Guards(), demo.Structured()); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAnswerIsBounded checks that no request makes an answer that is out of all
// proportion to it.
func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	long := "weather in O" + strings.Repeat("o", 1<<20)
	deep := `{"type":"string"}`
	for range 5 {
		deep = `{"type":"object","properties":{"p":` + deep + `},"required":[` + strings.Repeat(`"p",`, 99) + `"p"]}`
	}
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf(`"p%d"`, i))
	}
	for _, tt := range []struct{ name, prompt, parameters string }{
		{"a long prompt", "Why? " + long, `{}`},
		{"a name that is repeated", "weather", deep},
		{"a long word in many arguments", long, `{"required":[` + strings.Join(names, ",") + `]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			request := body(true, tt.prompt, `{"type":"function","function":{"name":"f","parameters":`+tt.parameters+`}}`, "")
			for _, model := range []string{"native", "broken_args", "concatenated", "hermes"} {
				size, frames := 0, 0
				reply := chat(t.Context(), t, fast(), model, request)
				for f, err := reply.Next(); err == nil; f, err = reply.Next() {
					size += len(f.Raw)
					frames++
				}
				reply.Close()
				if limit := 20*len(request) + 16<<20; size > limit || frames > 50_000 {
					t.Errorf("%s: got %d bytes in %d frames for %d bytes, want at most %d in 50000", model, size, frames, len(request), limit)
				}
			}
		})
	}
}

// FuzzChat checks that every model answers every request that the gateway lets
// through, or refuses it with an error of its own.
func FuzzChat(f *testing.F) {
	all := slices.Concat(demo.Formats(), []string{demo.Echo}, demo.Faults(), demo.Guards(), demo.Structured(), demo.NoTools(), demo.Scripts())
	models := slices.DeleteFunc(all, func(name string) bool { return name == "hang" })
	for i := range models {
		f.Add([]byte(body(i%2 == 0, "Why two, in Oslo?", weather+","+clock, "")), uint8(i))
	}
	for _, form := range templates(f) {
		text, err := json.Marshal(map[string]any{"model": "m", "messages": []said{
			say("system", form.tools), say("user", weatherAndTime), say("assistant", form.call), say("user", form.results),
		}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint8(slices.Index(models, "no_tools/"+form.format)))
	}
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"function":{"name":"Ä_b","parameters":{"required":["'","a","a"],"properties":{"'":{"enum":["'\\\""]}}}}}]}`), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, n uint8) {
		req, err := gateway.ParseRequest(text)
		if err != nil {
			return
		}
		model := models[int(n)%len(models)]
		reply, err := fast().Chat(t.Context(), model, req)
		for err == nil {
			var frame *gateway.Frame
			if frame, err = reply.Next(); err == nil && frame.Data != nil && !wire.IsObject(frame.Data) {
				t.Fatalf("%s: got %q, want a JSON object", model, frame.Data)
			}
		}
		if e := gateway.AsError(err); err.Error() != "EOF" && e.Kind == gateway.Internal {
			t.Errorf("%s: got %v, want an error that is classified", model, err)
		}
	})
}
