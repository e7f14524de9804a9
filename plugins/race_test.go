//go:build race

package plugins_test

// underRace says that the race detector is there, which takes more memory than a process that compiles may have.
const underRace = true
