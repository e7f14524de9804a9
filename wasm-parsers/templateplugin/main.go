// Command templateplugin is the WebAssembly module of the parser that reads a
// model's own response_template. It is a module of its own because it carries
// the standard library's regular expression parser, which the others do without.
// Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags="-s -w" -buildmode=c-shared
package main

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/template"
)

func init() { // the host of a WASI reactor runs init and never main
	sdk.Module("template", "0.1.0")
	sdk.Register(template.Specs()...)
}

func main() {}
