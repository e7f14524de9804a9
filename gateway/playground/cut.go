package playground

import (
	"fmt"
	"math/rand/v2"
	"unicode/utf8"
)

// Cut is a way to cut a text into chunks, as streams do.
type Cut struct {
	// Name is what people call it.
	Name  string
	Apply func(text string) []string
}

// Whole does not cut at all.
func Whole() Cut { return Cut{"whole", whole} }

// Bytes cuts after every byte, also within a character.
func Bytes() Cut { return Cut{"byte by byte", single} }

// Sixes cuts after six characters each, which is about what a token of code has.
func Sixes() Cut { return Cut{"six characters each", sixes} }

// Random cuts into chunks of 1 to 16 bytes, also within a character. The same seed and
// number give the same chunks on every machine.
func Random(seed uint64, number int) Cut {
	return Cut{fmt.Sprintf("random, seed %d number %d", seed, number), func(text string) []string {
		rng := rand.New(rand.NewPCG(seed, uint64(number))) //nolint:gosec // the same each time
		var chunks []string
		for rest := text; rest != ""; {
			n := min(1+rng.IntN(16), len(rest))
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		return chunks
	}}
}

func whole(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func single(text string) []string {
	chunks := make([]string, len(text))
	for i := range len(text) {
		chunks[i] = text[i : i+1]
	}
	return chunks
}

func sixes(text string) []string {
	var chunks []string
	for rest := text; rest != ""; {
		n := 0
		for range 6 {
			_, size := utf8.DecodeRuneInString(rest[n:])
			n += size
		}
		chunks, rest = append(chunks, rest[:n]), rest[n:]
	}
	return chunks
}
