package contract

import "math/rand/v2"

// maxCuts is at how many places, about, an input is cut in two.
const maxCuts = 512

// Cuts are the ways of cutting input that must make no difference: byte by byte, in
// sixes, in two (at every place if the input is not longer than 512 bytes, else at 512
// places) and in 50 random ways, the same each time.
func Cuts(input string) [][]string {
	ways := [][]string{sized(input, 1), sized(input, 6)}
	step := max(1, len(input)/maxCuts)
	for i := 1; i < len(input); i += step {
		ways = append(ways, []string{input[:i], input[i:]})
	}
	random := rand.New(rand.NewPCG(1, uint64(len(input)))) //nolint:gosec // it has to be repeatable
	for range 50 {
		var pieces []string
		for rest := input; rest != ""; {
			n := min(1+random.IntN(24), len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		ways = append(ways, pieces)
	}
	return ways
}

func sized(input string, size int) []string {
	var pieces []string
	for ; len(input) > size; input = input[size:] {
		pieces = append(pieces, input[:size])
	}
	return append(pieces, input)
}
