package prefix_test

import (
	"fmt"
	"strings"

	"github.com/callgate/callgate/gateway/prefix"
)

// The second turn of a conversation goes to the target that answered the first.
func ExampleIndex() {
	index := prefix.New(prefix.Options{Targets: []prefix.Target{{Name: "a"}, {Name: "b"}}})
	candidates := []prefix.Candidate{{Target: "a", Running: 1}, {Target: "b"}}
	key := prefix.NewKey([]byte("a secret"), "acme", "gpt-4.1")
	tools := []byte(`[{"type":"function","function":{"name":"weather"}}]`)
	messages := `{"role":"user","content":"` + strings.Repeat("How is the weather? ", 100) + `"}`

	first := prefix.Of(key, tools, []byte(messages))
	decision := index.Choose(first, candidates)
	fmt.Println(decision.Reason, decision.Expected, "of", decision.Blocks)
	index.Add(decision.Target, first) // it has answered

	messages += `,{"role":"assistant","content":"Fine."},{"role":"user","content":"` + strings.Repeat("And now? ", 100) + `"}`
	second := index.Choose(prefix.Of(key, tools, []byte(messages)), candidates)
	fmt.Println(second.Reason, second.Expected, "of", second.Blocks, second.Target == decision.Target)
	// Output:
	// hashed 0 of 4
	// cached 4 of 5 true
}
