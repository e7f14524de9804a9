// Package contract is what a parser promises, as plain functions: how events are
// written down and joined, which of them make sense, in which ways a text is cut, and
// how golden cases are kept. Package sdktest holds a parser in Go to it in a test, and
// the command "callgate plugin test" a compiled plugin in its sandbox. Guests do not
// need it.
package contract
