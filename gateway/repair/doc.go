// Package repair mends one tool call: its arguments, its name, and what its
// schema says of both. The gateway uses it for calls that an upstream gave itself,
// streamed or whole, and for those that were read from text.
//
// It follows three rules. Bytes that need no change are not changed. What is
// changed is said: every repair has a kind, and what cannot be mended is a
// [Problem] that a person, a client and a model can read. And nothing is guessed:
// no quote, name, brace or value is made up, and no arguments but empty ones
// become {}.
//
// All of it takes time in proportion to its input and memory of a small multiple
// of it, whatever the input is.
package repair
