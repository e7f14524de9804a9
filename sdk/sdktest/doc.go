// Package sdktest is the contract of a parser as a test. A plugin's author calls
// Golden for cases kept as data files, Example for what the manifest shows and Fuzz
// from a fuzz target:
//
//	func TestGolden(t *testing.T) { sdktest.Golden(t, mine.Spec(), "testdata") }
//
// Fragments puts inputs together from a format's markers, Truncated ends them at every
// byte, and Rendered has calls written by the author's own code read back. LongString
// and Steps show that arguments come while they are written, Verdicts and Heads what
// CanParse says, and Benchmark what reading costs.
//
// What is checked, whatever the input:
//
//   - the joined events are the same however the text is cut
//   - CanParse never changes its mind once it has said No or Yes
//   - calls count from 0, one is open at a time, and each that ends has a valid
//     JSON object as its arguments
//   - End and Malformed are written once, last, and lie within what was fed
//   - Finish ends the region
package sdktest
