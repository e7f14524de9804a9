package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Error holds everything that is wrong with a configuration, in the order of the
// file. No message holds a secret or a value that came from the environment.
type Error struct {
	// File is the name given to [Parse].
	File string
	// Problems has at least one element.
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

// report collects problems.
type report struct {
	src      *source
	problems []Problem
	// bad holds the paths that already have a problem, so that one mistake is
	// not reported again by what follows from it.
	bad  map[path]bool
	more int
}

func newReport(src *source) *report {
	if src == nil {
		src = &source{}
	}
	return &report{src: src, bad: map[path]bool{}}
}

// full reports whether further problems are only counted.
func (r *report) full() bool { return len(r.problems) >= maxProblems }

// at adds a problem at a position, of a value that is not used any further.
func (r *report) at(line, col int, p path, format string, args ...any) {
	r.put(line, col, p, format, args...)
	r.bad[p] = true
}

// put adds a problem that says nothing of the value at p and what is in it, such
// as one of its key.
func (r *report) put(line, col int, p path, format string, args ...any) {
	if r.full() {
		r.more++
		return
	}
	r.problems = append(r.problems, Problem{line, col, string(p), fmt.Sprintf(format, args...)})
}

// add adds a problem of a value, unless it or what holds it has one already.
func (r *report) add(p path, format string, args ...any) {
	if r.isBad(p) {
		return
	}
	m := r.src.find(p)
	r.at(m.line, m.col, p, format, args...)
}

// addName adds a problem of the last key of p. What it leads to is checked all
// the same.
func (r *report) addName(p path, message string) {
	if r.isBad(p) {
		return
	}
	m := r.src.find(p)
	r.put(m.line, m.col, p, "%s", message)
}

func (r *report) isBad(p path) bool {
	for !r.bad[p] {
		if p == "" {
			return false
		}
		p = p.parent()
	}
	return true
}

// hasBad reports whether something in the section at p has a problem, and may be all that
// it has.
func (r *report) hasBad(p path) bool {
	within := string(p) + "."
	for bad := range r.bad {
		if strings.HasPrefix(string(bad), within) {
			return true
		}
	}
	return false
}

// written reports whether the file says anything at p itself.
func (r *report) written(p path) bool {
	_, ok := r.src.marks[p]
	return ok
}

// where names the place of another value in a message.
func (r *report) where(p path) string {
	if m := r.src.marks[p]; m.line > 0 {
		return fmt.Sprintf("%s in line %d", p, m.line)
	}
	return string(p)
}

// err returns what was collected, nil if nothing was.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
	if r.more > 0 {
		r.problems = append(r.problems, Problem{Message: fmt.Sprintf("and %d more problems", r.more)})
	}
	return &Error{File: r.src.file, Problems: r.problems}
}

// suggest returns what was probably meant and what would be right, such as
// `; did you mean "hermes"? known parsers: …`.
func (r *report) suggest(word, what string, known []string) string {
	const most = 20
	if r.full() {
		return ""
	}
	hint := ""
	if best := nearest(word, known); best != "" {
		hint = fmt.Sprintf("; did you mean %q?", best)
	}
	list := strings.Join(known[:min(len(known), most)], ", ")
	switch {
	case len(known) == 0:
		return hint + "; there are no " + what
	case len(known) > most:
		list += ", …"
	}
	if hint == "" {
		hint = ";"
	}
	return hint + " known " + what + ": " + list
}

// suggestFor is suggest for the value at p. It gives no hint where that would
// tell what a variable of the environment holds.
func (r *report) suggestFor(p path, word, what string, known []string) string {
	if r.src.find(p).origin != "" {
		word = ""
	}
	return r.suggest(word, what, known)
}

// nearest returns the word of known that text is a likely misspelling of, or "".
func nearest(text string, known []string) string {
	const longest, most = 64, 1000
	if text == "" || len(text) > longest {
		return ""
	}
	best, least := "", 1+(len(text)+2)/3
	for _, k := range known[:min(len(known), most)] {
		if len(k) > longest {
			continue
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(text), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// quote writes text for a message, shortened.
func quote(text string) string {
	const most = 80
	if runes := []rune(text[:min(len(text), 4*most)]); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
