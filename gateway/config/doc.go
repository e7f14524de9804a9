// Package config reads the gateway's one YAML file into plain data.
//
// Reading is strict: an unknown or repeated key, a value of the wrong type, and
// a variable that is not set are errors, and all of them are reported at once,
// each with its place in the file. Every default, range and description is a
// struct tag beside its field; decoding, validation, the printed configuration and
// the JSON Schema all read it from there.
//
// The package imports nothing else of the gateway: the command does the wiring.
package config
