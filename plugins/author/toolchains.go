package author

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// buildRust compiles a crate. The module is the last one that cargo says it made.
func buildRust(ctx context.Context, dir string, warnings io.Writer) ([]byte, error) {
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		return nil, &ToolchainError{`Rust is needed to build this plugin and there is no "cargo" in PATH: install it with rustup, and run "rustup target add wasm32-unknown-unknown"`}
	}
	out, err := tool(ctx, dir, warnings, "cargo build", cargo, "build", "--release", "--quiet", "--target", "wasm32-unknown-unknown", "--message-format", "json-render-diagnostics")
	if err != nil {
		return nil, err
	}
	file := ""
	for line := range bytes.Lines(out) {
		var m struct{ Filenames []string }
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		for _, name := range m.Filenames {
			if filepath.Ext(name) == ".wasm" {
				file = name
			}
		}
	}
	if file == "" {
		return nil, &BuildError{Dir: dir, Tool: "cargo build", Output: `it made no .wasm file: Cargo.toml needs [lib] with crate-type = ["cdylib"]`}
	}
	return os.ReadFile(file)
}

// buildAssemblyScript compiles what the target release of asconfig.json says.
func buildAssemblyScript(ctx context.Context, dir string, warnings io.Writer) ([]byte, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, &ToolchainError{`Node is needed to build this plugin and there is no "node" in PATH: install it, for instance with apt-get install nodejs npm`}
	}
	compiler := filepath.Join("node_modules", "assemblyscript", "bin", "asc.js") // what npx asc runs
	if _, err := os.Stat(filepath.Join(dir, compiler)); err != nil {
		return nil, &ToolchainError{fmt.Sprintf(`AssemblyScript's compiler is not in %s: run "npm ci" in %s`, filepath.Join(dir, "node_modules"), dir)}
	}
	return toFile(func(file string) error {
		_, err := tool(ctx, dir, warnings, "asc", node, compiler, "assembly/index.ts", "--target", "release", "--outFile", file)
		return err
	})
}

// buildC compiles all C files of the folder, with what is in its file flags.
func buildC(ctx context.Context, dir string, warnings io.Writer) ([]byte, error) {
	compiler, err := clang(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var sources []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".c" {
			sources = append(sources, e.Name())
		}
	}
	if len(sources) == 0 {
		return nil, &BuildError{Dir: dir, Tool: compiler[0], Output: "there is no file that ends in .c"}
	}
	return toFile(func(file string) error {
		args := slices.Concat(compiler[1:], []string{"@flags", "-o", file}, sources)
		_, err := tool(ctx, dir, warnings, strings.Join(compiler, " "), compiler[0], args...)
		return err
	})
}

// clang is the command of the C compiler, which takes clang's flags. Many environments have a CC
// that does not.
func clang(ctx context.Context) ([]string, error) {
	compiler := strings.Fields(os.Getenv("CC"))
	if len(compiler) == 0 {
		if _, err := exec.LookPath("clang"); err != nil {
			return nil, &ToolchainError{`clang is needed to build this plugin and there is no "clang" in PATH: install it with apt-get install clang lld, or name another with CC`}
		}
		return []string{"clang"}, nil
	}
	const remedy = "unset CC, or let it name clang"
	if _, err := exec.LookPath(compiler[0]); err != nil {
		return nil, &ToolchainError{fmt.Sprintf("clang is needed to build this plugin and CC in the environment is %q, which is not in PATH: %s", compiler[0], remedy)}
	}
	version := exec.CommandContext(ctx, compiler[0], slices.Concat(compiler[1:], []string{"--version"})...) //nolint:gosec // the user's own toolchain
	if out, err := version.Output(); err == nil && !bytes.Contains(out, []byte("clang")) {
		return nil, &ToolchainError{fmt.Sprintf("clang is needed to build this plugin and CC in the environment is %q, which is not clang: %s", compiler[0], remedy)}
	}
	return compiler, nil
}

// toFile runs a build that writes a file, and returns that.
func toFile(build func(file string) error) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "callgate-plugin-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	file := filepath.Join(tmp, "plugin.wasm")
	if err := build(file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// tool runs part of a toolchain in dir and returns what it prints. What it says on standard
// error is a *BuildError if it fails, else it goes to warnings.
func tool(ctx context.Context, dir string, warnings io.Writer, name, path string, args ...string) ([]byte, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // the user's own toolchain
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &said
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &BuildError{Dir: dir, Tool: name, Output: strings.TrimSpace(said.String() + exitless(err))}
	}
	if said.Len() > 0 {
		_, err = said.WriteTo(warnings)
	}
	return out.Bytes(), err
}
