// Command builtin is the WebAssembly module of the parsers that come with the
// gateway. Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags="-s -w" -buildmode=c-shared
package main

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/all"
)

func init() { // the host of a WASI reactor runs init and never main
	sdk.Module("builtin", "0.1.0")
	sdk.Register(all.Specs()...)
}

func main() {}
