package toolresult

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed words.txt
var wordsFile string

//go:embed phrases.txt
var phrasesFile string

// class is what a word does, a set of bits.
type class uint32

// The classes of words.txt, see saysFailure and Reads.
const (
	failure class = 1 << iota
	opening
	harmless
	negation
	no
	present
	absent
	success
	count
	counted
	label
	zero
	falsy
	list
	joint
	without
	reading
	acting
	either

	end // of the text
)

// lexicon returns the classes of the words that have any.
var lexicon = sync.OnceValue(func() map[string]class {
	names := map[string]class{
		"failure": failure, "opening": opening, "harmless": harmless, "negation": negation, "no": no,
		"present": present, "absent": absent, "success": success, "count": count, "counted": counted,
		"label": label, "zero": zero, "false": falsy, "list": list, "joint": joint, "without": without,
		"reads": reading, "acts": acting, "either": either,
	}
	words := map[string]class{}
	for _, line := range lines(wordsFile) {
		name, list, _ := strings.Cut(line, ":")
		for _, word := range strings.Fields(list) {
			words[word] |= names[name]
		}
	}
	return words
})

// phrases returns those of phrases.txt.
var phrases = sync.OnceValue(func() (all [][]byte) {
	for _, line := range lines(phrasesFile) {
		all = append(all, []byte(line))
	}
	return all
})

// lines returns those that say something.
func lines(file string) (all []string) {
	for line := range strings.Lines(file) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}
