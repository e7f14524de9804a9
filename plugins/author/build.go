package author

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callgate/callgate"
)

// ErrNoGo means that the Go toolchain is not there.
var ErrNoGo error = &ToolchainError{`the Go toolchain is needed to build a plugin and there is no "go" in PATH: install it from https://go.dev/dl`}

// ToolchainError says which part of a toolchain is not there, and how to install it.
type ToolchainError struct{ text string }

// Error implements error.
func (e *ToolchainError) Error() string { return e.text }

// BuildError is why a project could not be compiled.
type BuildError struct {
	Dir    string
	Tool   string // that failed: go build, cargo build
	Output string // what it printed: lines with files and places
}

// Error implements error, in one line.
func (e *BuildError) Error() string { return e.Tool + " of " + e.Dir + " failed" }

// Build compiles the project in dir as a plugin and returns the module. What a compiler warns
// of goes to warnings. The language is that of the build file: Cargo.toml, asconfig.json, or
// flags for clang; without any of them it is Go.
//
// A project in Go needs Go and no network: what it imports has to be in it, in its vendor
// folder, or in Go's module cache. The others are built with cargo, with the asc that npm has
// installed in the project, and with clang, which CC in the environment may name. An error is a
// *ToolchainError, a *BuildError, or about the folder.
func Build(ctx context.Context, dir string, warnings io.Writer) ([]byte, error) {
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, &noFolderError{dir}
	} else if err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder with the source of a plugin", dir)
	}
	for _, by := range []struct {
		file  string
		build func(context.Context, string, io.Writer) ([]byte, error)
	}{{"Cargo.toml", buildRust}, {"asconfig.json", buildAssemblyScript}, {"flags", buildC}} {
		if _, err := os.Stat(filepath.Join(dir, by.file)); err == nil {
			return by.build(ctx, dir, warnings)
		}
	}
	return compile(ctx, dir, "GOTOOLCHAIN=local")
}

// noFolderError is the error of a folder that does not exist.
type noFolderError struct{ dir string }

// Error implements error.
func (e *noFolderError) Error() string {
	return fmt.Sprintf(`there is no folder %s: "callgate plugin new" makes one`, e.dir)
}

// Unwrap has errors.Is find what it is.
func (e *noFolderError) Unwrap() error { return fs.ErrNotExist }

// checkGoProject refuses a folder in which go build finds nothing to build.
func checkGoProject(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(files, func(f fs.DirEntry) bool { return filepath.Ext(f.Name()) == ".go" }) && inModule(at) {
		return nil
	}
	return fmt.Errorf(`%s is not a project of a plugin: it has no Go module, Cargo.toml, asconfig.json or flags; "callgate plugin new" makes one`, dir)
}

// inModule reports whether a folder or one above it has a go.mod.
func inModule(dir string) bool {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}

// BuildParsers compiles the parsers in a folder of wasm-parsers from the source that the
// program carries. It needs Go and no network: the toolchain that has compiled the program
// will do, which may be another than that in PATH, in Go's module cache. An error is ErrNoGo,
// a *BuildError, or about the temporary folder.
func BuildParsers(ctx context.Context, folder string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "callgate-parsers-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := writeModule(callgate.Source(), tmp, "sdk", "wasm-parsers"); err != nil {
		return nil, err
	}
	return compile(ctx, filepath.Join(tmp, "wasm-parsers", folder))
}

// compile compiles the Go package in dir. settings are more of the environment.
func compile(ctx context.Context, dir string, settings ...string) ([]byte, error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return nil, ErrNoGo
	}
	if err := checkGoProject(dir); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "callgate-plugin-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	file := filepath.Join(tmp, "plugin.wasm")
	cmd := exec.CommandContext(ctx, goTool, "build", "-trimpath", "-ldflags=-s -w -buildid=", "-buildmode=c-shared", "-o", file, ".") //nolint:gosec // the user's own toolchain
	cmd.Dir = dir
	cmd.Env = environment(os.Environ(), dir, settings)
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &BuildError{Dir: dir, Tool: "go build", Output: strings.TrimSpace(string(out) + exitless(err))}
	}
	wasm, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) { // go build writes nothing for a package that is not main
		return nil, &BuildError{Dir: dir, Tool: "go build", Output: "the package is not a program: begin its files with package main"}
	}
	return wasm, err
}

// exitless is what an error says besides an exit status.
func exitless(err error) string {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return ""
	}
	return err.Error()
}

// environment is the user's with what makes a guest, and nothing that would change the
// build or ask a network. A vendor folder is used if there is one.
func environment(env []string, dir string, settings []string) []string {
	mod := "-mod=mod"
	if _, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt")); err == nil {
		mod = "-mod=vendor"
	}
	ours := append([]string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GO111MODULE=on", "GOWORK=off", "GOPROXY=off", "GOFLAGS=" + mod, "GOWASM=", "GOEXPERIMENT="}, settings...)
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(ours, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	})
	return append(env, ours...)
}
