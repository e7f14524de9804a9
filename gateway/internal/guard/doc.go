// Package guard judges answers of models: does one say that something was done, or
// looked up, or will be done at once, and calls no tool that could have done it? It is
// pure: no network, no clock, no state beyond a case.
//
// No phrase decides alone. A phrase is held against what the user asked for, which
// tools were offered, what they do by their names, and which were called since the user
// spoke; questions, refusals and texts that the model makes by itself speak against a
// claim. Words come from the lexicons of 16 languages in the folder lexicon, which are
// plain lists.
//
// A text becomes a reading: sentences, each with its marks, the words that mean something.
// A message of the user becomes a message, and the last of them the wish. The names of tools
// become a toolbox, and the calls since the user spoke a turn. Each signal has a file, which
// holds a reading against those of them that it needs and adds what it finds to the reasons:
// weigh.go (an act that is claimed), lookup.go, state.go, promise.go, due.go, unsourced.go,
// reference.go, calltext.go, narration.go, coverage.go, past.go, contradiction.go, demand.go,
// against.go. Case.weigh has them in their order, and score.go adds them up.
//
// Reading is linear in the answer and in the conversation. Of a very long text only the
// beginning and the end are read.
package guard
