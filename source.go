// Package callgate is what the program carries of its own source: the SDK and the
// starter of a plugin, from which "callgate plugin new" makes a project that builds
// without a network. It stands at the root because go:embed reaches no parent folder,
// and the copy needs the licence; guests do not import it.
package callgate

import (
	"embed"
	"io/fs"
)

//go:embed LICENSE go.mod sdk/README.md sdk/*.go sdk/abi/*.go sdk/chars/*.go sdk/contract/*.go sdk/relaxed/*.go sdk/sdktest/*.go sdk/typed/*.go
//go:embed sdk/examples/starter
var source embed.FS

// Source is the part of the repository that is carried, under its own paths: LICENSE,
// go.mod, the SDK in sdk and the starter in sdk/examples/starter.
func Source() fs.FS { return source }
