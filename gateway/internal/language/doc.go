// Package language tells in which language a short message is written. Scripts that one
// language has to itself decide alone; among the others it compares how common the
// letters, pairs and triples of letters of the words are in each language, and which common words of
// each are there. A message that
// leaves a doubt has no language.
//
// What is common comes from the models of lingua-go (github.com/pemistahl/lingua-go
// v1.4.0, Apache-2.0, see LICENSE-lingua-go), cut to the 6000 most common of each
// language by gen.go. Lingua itself adds 133 MB to the binary.
package language

//go:generate go run gen.go
