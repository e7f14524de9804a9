// Package builtin holds the gateway's own parsers, compiled to WebAssembly, as a
// part of the binary. The module is built from wasm-parsers by "make wasm" and is
// not under version control.
package builtin

import (
	"embed"
	"errors"
	"io/fs"
)

// Name is what messages and lists call the plugin.
const Name = "builtin"

//go:embed all:dist
var dist embed.FS

// Wasm returns the module. It fails in a binary that was built without it.
func Wasm() ([]byte, error) {
	b, err := dist.ReadFile("dist/parsers.wasm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this binary was built without its parsers: run \"make build\", or \"make wasm\" before go build or go test")
	}
	return b, err
}
