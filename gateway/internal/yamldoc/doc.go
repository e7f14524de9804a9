// Package yamldoc reads YAML files that an operator writes: the configuration, and the
// prices of models. [Read] turns a file into a tree of [Node] values that know their places;
// what is wrong is collected in [Problems], all of it at once, as an [Error] that editors can
// jump into. It is the only importer of goccy/go-yaml.
//
// Nothing that it reads can keep the process busy: bytes, words, nesting, indentation, the
// values that aliases stand for, and problems are bounded. A key that is there twice is a
// problem; what keys there may be is the caller's to say ([Problems.UnknownKey]). No message
// repeats a value of the file, which may be a secret.
package yamldoc
