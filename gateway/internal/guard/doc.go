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
// Reading is linear in the answer and in the conversation. Of a very long text only the
// beginning and the end are read.
package guard
