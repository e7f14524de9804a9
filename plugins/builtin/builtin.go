// Package builtin holds the gateway's own parsers, compiled to WebAssembly, as a
// part of the binary. The module is built from wasm-parsers by "make wasm" and is
// not under version control.
package builtin

import (
	"embed"
	"errors"
	"io/fs"
)

// Names are what messages and lists call the plugins.
const (
	Name     = "builtin"  // the parsers of known formats
	Template = "template" // the interpreter of response templates, for those who use one
)

//go:embed all:dist
var dist embed.FS

// Wasm returns the module of a name. It fails in a binary that was built without it.
func Wasm(name string) ([]byte, error) {
	b, err := dist.ReadFile("dist/" + name + ".wasm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this binary was built without its parsers: run \"make build\", or \"make wasm\" before go build or go test")
	}
	return b, err
}
