// Package callgate is what the program carries of its own source: the SDK and the
// starters of plugins in four languages, from which "callgate plugin new" makes a project, and the built-in parsers, which a program that came without them
// compiles. It stands at the root because go:embed reaches no parent folder, and the copy
// needs the licence; guests do not import it.
package callgate

import (
	"embed"
	"io/fs"
)

//go:embed LICENSE go.mod sdk/README.md sdk/*.go sdk/abi/*.go sdk/chars/*.go sdk/contract/*.go sdk/relaxed/*.go sdk/sdktest/*.go sdk/typed/*.go
//go:embed sdk/examples/starter
//go:embed sdk/examples/lines-rust/.cargo/config.toml sdk/examples/lines-rust/.gitignore sdk/examples/lines-rust/Cargo.* sdk/examples/lines-rust/README.md sdk/examples/lines-rust/src/*.rs
//go:embed sdk/examples/lines-c/.gitignore sdk/examples/lines-c/README.md sdk/examples/lines-c/*.c sdk/examples/lines-c/*.h sdk/examples/lines-c/flags
//go:embed sdk/examples/lines-assemblyscript/.gitignore sdk/examples/lines-assemblyscript/README.md sdk/examples/lines-assemblyscript/*.json sdk/examples/lines-assemblyscript/assembly/*.ts sdk/examples/lines-assemblyscript/assembly/tsconfig.json
//go:embed sdk/examples/cases/README.md sdk/examples/cases/tools.json sdk/examples/cases/*.case
//go:embed wasm-parsers/*/*.go wasm-parsers/internal/*/*.go
var source embed.FS

// Source is the part of the repository that is carried, under its own paths: LICENSE,
// go.mod, the SDK in sdk, the starters and their cases in sdk/examples and the parsers in
// wasm-parsers.
func Source() fs.FS { return source }
