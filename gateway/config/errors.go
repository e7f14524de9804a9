package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// Error holds everything that is wrong with a configuration, in the order of the
// file. No message holds a secret or a value that came from the environment.
type Error = yamldoc.Error

// report collects problems.
type report struct {
	src      *source
	problems yamldoc.Problems
	// bad holds the paths that already have a problem, so that one mistake is
	// not reported again by what follows from it.
	bad map[path]bool
}

func newReport(src *source) *report {
	if src == nil {
		src = &source{}
	}
	return &report{src: src, bad: map[path]bool{}}
}

// full reports whether further problems are only counted.
func (r *report) full() bool { return r.problems.Full() }

// at adds a problem at a position, of a value that is not used any further.
func (r *report) at(line, col int, p path, format string, args ...any) {
	r.problems.Add(line, col, p, format, args...)
	r.bad[p] = true
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
	r.problems.Add(m.line, m.col, p, "%s", message)
}

func (r *report) isBad(p path) bool {
	for !r.bad[p] {
		if p == "" {
			return false
		}
		p = p.Parent()
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

// beside names the key at p, of a value that makes another key useless, in a message: that it is the default's
// where nobody has written it.
func (r *report) beside(p path, value string) string {
	_, key, _ := strings.Cut(string(p), ".")
	if r.written(p) {
		return fmt.Sprintf("with %s: %s", key, value)
	}
	return fmt.Sprintf("without %s, which is %s where it is left out", key, value)
}

// where names the place of another value in a message.
func (r *report) where(p path) string {
	if m := r.src.marks[p]; m.line > 0 {
		return fmt.Sprintf("%s in line %d", p, m.line)
	}
	return string(p)
}

// err returns what was collected, nil if nothing was.
func (r *report) err() error { return r.problems.Err(r.src.file) }

// suggest says of the value at p what was probably meant, and what would be right. It
// gives no hint where that would tell what a variable of the environment holds.
func (r *report) suggest(p path, word, what string, known []string) string {
	if r.src.find(p).origin != "" {
		word = ""
	}
	return r.problems.Suggest(word, what, known)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
