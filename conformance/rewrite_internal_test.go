package conformance

import (
	"reflect"
	"strings"

	"golang.org/x/tools/txtar"
)

// Rewrite returns the text of a case's file with the files replaced that got names.
// A file that is not there is not added: an empty one asks for what it should be. One
// that says the same in other words is left alone.
func Rewrite(text []byte, got map[string]string) []byte {
	a := txtar.Parse(text)
	for i, f := range a.Files {
		if now, ok := got[f.Name]; ok && !alike(f.Name, string(f.Data), now) {
			a.Files[i].Data = []byte(now)
		}
	}
	return txtar.Format(a)
}

// alike reports whether two texts of a file of want say the same.
func alike(name, a, b string) bool {
	x, y := meaning(name, a), meaning(name, b)
	return len(x) > 0 && reflect.DeepEqual(x, y)
}

// meaning is what a file says: its values, without what is not compared, or its lines.
func meaning(name, text string) []any {
	var out []any
	if !strings.HasSuffix(name, ".jsonl") && !strings.HasSuffix(name, ".txt") {
		text = strings.ReplaceAll(text, "\n", " ") // one value
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if v, err := decode([]byte(line)); err == nil {
			out = append(out, without(v, "id", "created", "model"))
			continue
		}
		out = append(out, line)
	}
	return out
}
