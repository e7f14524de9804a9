// Package callgate is what the program carries of its own source: the SDK and the
// starter of a plugin, from which "callgate plugin new" makes a project that builds
// without a network, and the built-in parsers, which a program that came without them
// compiles. It stands at the root because go:embed reaches no parent folder, and the copy
// needs the licence; guests do not import it.
package callgate

import (
	"embed"
	"io/fs"
)

//go:embed LICENSE go.mod sdk/README.md sdk/*.go sdk/abi/*.go sdk/chars/*.go sdk/contract/*.go sdk/relaxed/*.go sdk/sdktest/*.go sdk/typed/*.go
//go:embed sdk/examples/starter
//go:embed wasm-parsers/*/*.go wasm-parsers/internal/*/*.go
var source embed.FS

// Source is the part of the repository that is carried, under its own paths: LICENSE,
// go.mod, the SDK in sdk, the starter in sdk/examples/starter and the parsers in
// wasm-parsers.
func Source() fs.FS { return source }
