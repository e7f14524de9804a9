//go:build race

package cli

// underRace says that the race detector is there, which takes several times the memory.
const underRace = true
