package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

const structuredSchema = `{"type":"object","properties":{"title":{"type":"string"},"count":{"type":"integer"},"items":{"type":"array","items":{"type":"object",` +
	`"properties":{"id":{"type":"integer"},"name":{"type":"string"},"done":{"type":"boolean"}},"required":["id","name","done"],"additionalProperties":false}}},` +
	`"required":["title","count","items"],"additionalProperties":false}`

// structuredAnswer is an answer of about so many bytes that fits the schema.
func structuredAnswer(size int) string {
	var b strings.Builder
	b.WriteString(`{"title": "A list of what there is to do", "count": 20, "items": [`)
	for i := 0; b.Len() < size-2; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"id": %d, "name": "Number %d of the list", "done": %t}`, i, i, i%2 == 0)
	}
	b.WriteString("]}")
	return b.String()
}

// measureStructured measures what the check of an answer takes that is to be JSON.
func measureStructured(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		Title:   "the check of an answer that is to be JSON, with its schema, in process",
		Columns: []column{{"µs", "best"}, {"µs", "median"}},
		Note:    "best: the 10th percentile, when no other process had the core. A stream comes in pieces of 16 bytes.",
	}
	form := &repair.Form{Root: abi.Object, Tool: &abi.Tool{Params: []abi.Param{{Name: "title", Types: abi.String}, {Name: "count", Types: abi.Integer}, {Name: "items", Types: abi.Array}}}}
	schemas := repair.NewSchemas(0)
	kilobyte := structuredAnswer(1 << 10)
	for _, c := range []struct {
		name, text string
		piece      int
		aim        float64
	}{
		{"1 KB, whole", kilobyte, 0, 20},
		{"1 KB, streamed", kilobyte, deltaSize, 20},
		{"1 KB in a code fence, streamed", "```json\n" + kilobyte + "\n```", deltaSize, 0},
		{"1 KB with prose and trailing commas, streamed", "Here it is:\n" + strings.ReplaceAll(kilobyte, "}", ",}"), deltaSize, 0},
		{"64 KB, streamed", structuredAnswer(64 << 10), deltaSize, 0},
	} {
		var a repair.Answer
		times, err := interleave(ctx, b.time, repeated(func() error {
			a.Begin(form, 0)
			for text := []byte(c.text); len(text) > 0; {
				n := len(text)
				if c.piece > 0 {
					n = min(n, c.piece)
				}
				a.Feed(text[:n])
				text = text[n:]
			}
			if _, problem := a.End(); problem != nil {
				return problem
			}
			if problem, checked := schemas.CheckAnswer([]byte(structuredSchema), a.Text()); problem != nil || !checked {
				return fmt.Errorf("%s: %w, checked: %t", c.name, problem, checked)
			}
			return nil
		}))
		if err != nil {
			return nil, err
		}
		r := row{name: c.name, figures: []figure{best(times[0]), median(times[0])}}
		if c.aim > 0 {
			r.target = upTo("median", r.figures[1], c.aim, " µs")
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}
