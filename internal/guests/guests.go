// Package guests builds the example parser of sdk/examples in each language that it is
// written in, for tests and for "make bench". What a build needs and can be had without
// the system's own installer is installed into the user's cache directory.
package guests

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/callgate/callgate/internal/install"
	"github.com/callgate/callgate/plugins/author"
)

// Languages are those that the example is written in, as Build takes them.
func Languages() []string { return []string{"go", "rust", "assemblyscript", "c"} }

// Build compiles the example in a language; examples is the folder sdk/examples. What was
// built from the same sources by the same toolchain is not built again. An error is an
// install.MissingError if the toolchain is not there and cannot be installed.
func Build(ctx context.Context, examples, language string) ([]byte, error) {
	dir, err := filepath.Abs(filepath.Join(examples, "lines-"+language))
	if err != nil {
		return nil, err
	}
	var find func(context.Context, string) (toolchain, error)
	switch language {
	case author.Go: // its own cache knows what was built
		return author.Build(ctx, dir, io.Discard)
	case author.Rust:
		find = findCargo
	case author.AssemblyScript:
		find = findCompiler
	case author.C:
		find = findClang
	default:
		return nil, fmt.Errorf("no example in %q, there is one in %s", language, strings.Join(Languages(), ", "))
	}
	chain, err := find(ctx, dir)
	if err != nil {
		return nil, err
	}
	of, err := sources(dir)
	if err != nil {
		return nil, err
	}
	built, err := install.Once(install.Root(), "lines-"+language, append(of, chain.version), func(into string) error {
		return chain.build(ctx, filepath.Join(into, file))
	})
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", dir, err)
	}
	return os.ReadFile(filepath.Join(built, file))
}

// Prepare installs what an author installs before he builds the project in dir, which
// "callgate plugin new" has written, and returns the environment to build it in, beside the
// user's own. Errors are as those of Build.
func Prepare(ctx context.Context, dir, language string) (env []string, err error) {
	switch language {
	case author.Rust:
		_, err = findCargo(ctx, dir)
	case author.AssemblyScript:
		var modules string
		if modules, err = installCompiler(ctx, dir); err == nil {
			err = os.Symlink(modules, filepath.Join(dir, "node_modules"))
		}
	case author.C:
		var command []string
		if command, err = clang(ctx); err == nil {
			env = []string{"CC=" + strings.Join(command, " ")}
		}
	}
	return env, err
}

// file is the name of what is built.
const file = "plugin.wasm"

// toolchain is what compiles a guest.
type toolchain struct {
	version string // a text that changes with it
	build   func(ctx context.Context, out string) error
}

// sources are the names and texts of a folder, without what a build leaves there.
func sources(dir string) ([]string, error) {
	var of []string
	folder := os.DirFS(dir)
	err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case "build", "node_modules", "target":
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) == filepath.Ext(file) {
			return nil
		}
		text, err := fs.ReadFile(folder, path)
		of = append(of, path, string(text))
		return err
	})
	return of, err
}
