package guests

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/callgate/callgate/internal/install"
)

const rustTarget = "wasm32-unknown-unknown"

// findCargo finds Rust, and lets rustup install what it needs for WebAssembly.
func findCargo(ctx context.Context, dir string) (toolchain, error) {
	const remedy = "install Rust with rustup, or apt-get install cargo libstd-rust-dev-wasm32 lld"
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		return toolchain{}, install.MissingError{What: "Rust is not installed", Remedy: remedy}
	}
	version, err := install.Command(ctx, dir, "rustc", "--version", "--verbose")
	if err != nil {
		return toolchain{}, install.MissingError{What: fmt.Sprintf("Rust does not run (%v)", err), Remedy: remedy}
	}
	if err := addTarget(ctx, dir); err != nil {
		return toolchain{}, install.MissingError{
			What:   fmt.Sprintf("Rust has no target %s (%v)", rustTarget, err),
			Remedy: "rustup target add " + rustTarget + ", where Rust's server is in reach",
		}
	}
	return toolchain{version, func(ctx context.Context, out string) error {
		target, err := os.MkdirTemp("", "callgate-cargo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(target)
		_, err = install.Command(ctx, dir, cargo, "build", "--release", "--offline", "--locked", "--quiet", "--target-dir", target)
		if err != nil {
			return err
		}
		return os.Rename(filepath.Join(target, rustTarget, "release", file), out)
	}}, nil
}

func addTarget(ctx context.Context, dir string) error {
	root, err := install.Command(ctx, dir, "rustc", "--print", "sysroot")
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "lib", "rustlib", rustTarget, "lib")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = install.Command(ctx, dir, "rustup", "target", "add", rustTarget)
	return err
}

// findCompiler finds Node and AssemblyScript's compiler.
func findCompiler(ctx context.Context, dir string) (toolchain, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return toolchain{}, install.MissingError{What: "node is not installed", Remedy: "apt-get install nodejs npm"}
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return toolchain{}, err
	}
	modules, err := installCompiler(ctx, dir)
	if err != nil {
		return toolchain{}, err
	}
	compiler := filepath.Join(modules, "assemblyscript", "bin", "asc.js")
	return toolchain{string(lock), func(ctx context.Context, out string) error {
		_, err := install.Command(ctx, dir, node, compiler, "assembly/index.ts", "--target", "release", "--outFile", out)
		return err
	}}, nil
}

// installCompiler installs AssemblyScript's compiler at the version in the lock file of a
// project, and returns the folder node_modules.
func installCompiler(ctx context.Context, dir string) (string, error) {
	pins, of := []string{"package.json", "package-lock.json"}, []string{}
	for _, pin := range pins {
		text, err := os.ReadFile(filepath.Join(dir, pin))
		if err != nil {
			return "", err
		}
		of = append(of, string(text))
	}
	into, err := install.Once(install.Root(), "assemblyscript", of, func(into string) error {
		npm, err := exec.LookPath("npm")
		if err != nil {
			return err
		}
		for i, pin := range pins {
			if err := os.WriteFile(filepath.Join(into, pin), []byte(of[i]), 0o600); err != nil { //nolint:gosec // the names are those above
				return err
			}
		}
		_, err = install.Command(ctx, into, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1")
		return err
	})
	if err != nil {
		return "", install.MissingError{
			What:   fmt.Sprintf("AssemblyScript's compiler is not installed (%v)", err),
			Remedy: "go test ./sdk/examples, where npm and its registry are in reach",
		}
	}
	return filepath.Join(into, "node_modules"), nil
}
