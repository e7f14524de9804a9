package anthropic_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestAnswer translates whole answers.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "answer") {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			d, err := ask(t, open(t, answering("application/json", strings.NewReader(g.part("anthropic.json")))), plainBody)
			files := []txtar.File{{Name: "openai.json"}, {Name: "warnings", Data: []byte(d.warnings)}, {Name: "error", Data: []byte(errorText(err))}}
			if err == nil {
				files[0].Data = pretty(t, timeless(d.raw))
			}
			g.want(t, files...)
		})
	}
}

// TestAnswerBytes checks that arguments and text come back byte for byte.
func TestAnswerBytes(t *testing.T) {
	t.Parallel()
	const (
		words = `caf\u00e9 \/ <b> é 😀`
		input = `{ "b" : 1.0, "a":[9007199254740993 ],"s":"\u00e9\\" }`
		want  = `"arguments":"{ \"b\" : 1.0, \"a\":[9007199254740993 ],\"s\":\"\\u00e9\\\\\" }"`
		mind  = `{ "type":"thinking" ,"thinking":"h\u006d","signature":"s\/g","new":1.0 }`
	)
	answer := `{"id":"m","content":[` + mind + `,{"type":"text","text":"` + words + `"},{"type":"text","text":"x"},{"type":"tool_use","id":"t\/1","name":"f","input":` + input + `}],"stop_reason":"tool_use"}`
	d, err := ask(t, open(t, answering("application/json", strings.NewReader(answer))), plainBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{want, `"content":"` + words + `x"`, `"thinking_blocks":[` + mind + `]`, `"reasoning_content":"h\u006d"`, `"id":"t\/1"`} {
		if !strings.Contains(d.raw, want) {
			t.Errorf("got %s\nwant it to hold %s", d.raw, want)
		}
	}
}
