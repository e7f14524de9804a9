package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Blind plays a case once, and returns what its files of want may say otherwise without
// the case failing. It is for tests of the cases: what is returned is not checked.
func Blind(ctx context.Context, target Target, up *Upstream, name string, text []byte) (blind []string, err error) {
	c, err := ParseCase(name, text)
	if err != nil {
		return nil, err
	}
	var plays []*played
	exchanges := c.exchanges(&target)
	for i := range exchanges {
		p := c.play(ctx, &target, up, route{model: target.model(c.Reader())}, &exchanges[i])
		if f := c.judge(p, &exchanges[i], gotten{}); len(f.Faults) > 0 {
			return nil, fmt.Errorf("%s, %s: fails as it is: %q", name, exchanges[i].name, f.Faults)
		}
		plays = append(plays, p)
	}
	for _, m := range mutants(text) {
		mutant, err := ParseCase(name, m.text)
		if err != nil {
			return nil, fmt.Errorf("%s with another %s: %w", name, m.what, err)
		}
		caught := false
		for i := range exchanges {
			caught = caught || len(mutant.judge(plays[i], &exchanges[i], gotten{}).Faults) > 0
		}
		if !caught {
			blind = append(blind, m.what)
		}
	}
	return blind, nil
}

// mutant is a case that wants something else.
type mutant struct {
	what string
	text []byte
}

// maxMutants bounds the mutants of a file.
const maxMutants = 40

func mutants(text []byte) (out []mutant) {
	a := txtar.Parse(text)
	for i, f := range a.Files {
		dir, file, _ := strings.Cut(f.Name, "/")
		if dir != "want" && Level(dir).rank() < 0 || f.Name == "want/events.txt" { // which parsers are tested with
			continue
		}
		if f.Name == "want/stream_error.json" && slices.ContainsFunc(a.Files, func(f txtar.File) bool { return f.Name == "want/response.json" }) {
			continue // an end that may be, and need not
		}
		changed := others("want/"+file, string(f.Data))
		for k, data := range changed[:min(len(changed), maxMutants)] {
			b := txtar.Archive{Comment: a.Comment, Files: slices.Clone(a.Files)}
			b.Files[i].Data = []byte(data)
			out = append(out, mutant{fmt.Sprintf("%s (%d)", f.Name, k), txtar.Format(&b)})
		}
	}
	return out
}

// others are other contents of a file of want.
func others(name, data string) (out []string) {
	switch {
	case name == "want/status":
		lines := strings.Split(strings.TrimSpace(data), "\n")
		for i := range lines {
			if strings.Contains(lines[i], Closed) {
				continue // in what follows it nothing has to come
			}
			other := slices.Clone(lines)
			other[i] = "599"
			out = append(out, strings.Join(other, "\n")+"\n")
		}
	case name == "want/requests":
		out = []string{"77\n"}
	case name == "want/left":
		out = []string{"1ns\n"}
	case strings.HasSuffix(name, ".raw"):
		out = []string{data + `"~"` + "\n"}
	case strings.HasSuffix(name, ".jsonl"):
		lines := strings.Split(strings.TrimSpace(data), "\n")
		for i, line := range lines {
			for _, other := range changedLeaves(line) {
				out = append(out, strings.Join(slices.Concat(lines[:i], []string{other}, lines[i+1:]), "\n")+"\n")
			}
		}
	default:
		out = changedLeaves(data)
	}
	return out
}

// changedLeaves is JSON with one of its values changed, each in turn.
func changedLeaves(text string) (out []string) {
	v, err := decode([]byte(text))
	if err != nil {
		return nil
	}
	eachLeaf(v, func(with any) { v = with }, func() {
		b, _ := json.Marshal(v) // it came from JSON
		out = append(out, string(b))
	})
	return out
}

// uncompared are members that the suite takes from both sides, or reads as one of two.
var uncompared = []string{"id", "created", "model", "object"}

// eachLeaf changes each value of v in turn, calls then, and changes it back. set puts
// another value in the place of v.
func eachLeaf(v any, set func(any), then func()) {
	change := func(with any) {
		set(with)
		then()
		set(v)
	}
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 {
			change(map[string]any{"x_never": 1})
		}
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if !slices.Contains(uncompared, k) {
				eachLeaf(x[k], func(with any) { x[k] = with }, then)
			}
		}
	case []any:
		for i := range x {
			eachLeaf(x[i], func(with any) { x[i] = with }, then)
		}
	case string:
		change(x + "~")
	case json.Number:
		change(json.Number("424242"))
	case bool:
		change(!x)
	case nil:
		change("~")
	}
}
