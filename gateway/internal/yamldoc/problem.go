package yamldoc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error holds everything that is wrong with a file, in the order of the file.
type Error struct {
	// File is the name given to [Problems.Err].
	File string
	// Problems has at least one element, and about a hundred at most.
	Problems []Problem
}

// Problem is one thing wrong.
type Problem struct {
	// Line and Column begin at 1. They are 0 where the value is in no file.
	Line, Column int
	// Path leads to the value, such as models.qwen3.targets[0].provider. It is
	// empty for the file as a whole.
	Path string
	// Message says what is wrong and what to write instead.
	Message string
}

// Error gives one line a problem, each beginning with file, line and column as
// compilers write them, so that editors find the place.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.in(e.File)
	}
	return strings.Join(lines, "\n")
}

func (p Problem) in(file string) string {
	var b strings.Builder
	if file != "" {
		b.WriteString(file + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	return b.String() + p.Message
}

// maxProblems bounds an error: past it nobody reads on, and a hostile file could
// make the suggestions slow.
const maxProblems = 100

// Problems collects what is wrong with a file. The zero value is empty.
type Problems struct {
	list []Problem
	more int
}

// Full reports whether further problems are only counted.
func (r *Problems) Full() bool { return len(r.list) >= maxProblems }

// Len is how many problems there are, those that are only counted among them.
func (r *Problems) Len() int { return len(r.list) + r.more }

// Add adds a problem of the value at p, which stands at a line and column.
func (r *Problems) Add(line, col int, p Path, format string, args ...any) {
	if r.Full() {
		r.more++
		return
	}
	r.list = append(r.list, Problem{line, col, string(p), fmt.Sprintf(format, args...)})
}

// UnknownKey adds the problem of a key of the mapping at p that nobody reads.
func (r *Problems) UnknownKey(p Path, e Entry, known []string) {
	word := e.Key
	if Nearest(word, known) == "" {
		if longer := partOf(word, known); longer != "" {
			word = longer
		}
	}
	r.Add(e.Line, e.Column, p.Key(e.Key), "unknown key %s%s", Quote(e.Key), r.Suggest(word, "keys", known))
}

// partOf is the only key of known that has word between its underscores, such as base_url for url, or "".
func partOf(word string, known []string) (found string) {
	for _, k := range known {
		if !slices.Contains(strings.Split(k, "_"), strings.ToLower(word)) {
			continue
		}
		if found != "" {
			return ""
		}
		found = k
	}
	return found
}

// Suggest returns what was probably meant by a word and what would be right, such as
// `; did you mean "hermes"? known parsers: …`. An empty word gives no hint.
func (r *Problems) Suggest(word, what string, known []string) string {
	const most = 20
	if r.Full() {
		return ""
	}
	hint := ";"
	if best := Nearest(word, known); best != "" {
		hint = fmt.Sprintf("; did you mean %q?", best)
	}
	if len(known) == 0 {
		return "; there are no " + what
	}
	list := strings.Join(known[:min(len(known), most)], ", ")
	if len(known) > most {
		list += ", …"
	}
	return hint + " known " + what + ": " + list
}

// Err returns what was collected as an [*Error] of a file, or nil if nothing was.
func (r *Problems) Err(file string) error {
	if len(r.list) == 0 {
		return nil
	}
	list := slices.Clone(r.list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
	if r.more > 0 {
		list = append(list, Problem{Message: fmt.Sprintf("and %d more problems", r.more)})
	}
	return &Error{File: file, Problems: list}
}
