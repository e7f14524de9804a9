// Package builtin holds the gateway's own parsers, compiled to WebAssembly. "make wasm" builds
// the modules from wasm-parsers, and they are a part of a binary that is built after it. They
// are not under version control, so one that "go install" builds comes without them: it
// compiles them itself when they are first needed.
package builtin

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/wholefile"
	"github.com/callgate/callgate/plugins/author"
)

// Names are what messages and lists call the plugins.
const (
	Name     = "builtin"  // the parsers of known formats
	Template = "template" // the interpreter of response templates, for those who use one
)

//go:embed all:dist
var dist embed.FS

// Wasm returns the module of a name. It fails in a binary that was built without it.
func Wasm(name string) ([]byte, error) {
	b, err := dist.ReadFile("dist/" + name + ".wasm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this binary was built without its parsers: run \"make build\", or \"make wasm\" before go build or go test")
	}
	return b, err
}

// MissingError says that the program has no parsers, and how to get them. It is one line.
type MissingError struct{ Err error }

// Error implements error.
func (e *MissingError) Error() string {
	return "this program came without its parsers, as \"go install\" builds it, and needs Go to compile them: " + e.Err.Error()
}

// Unwrap is why they cannot be compiled.
func (e *MissingError) Unwrap() error { return e.Err }

// Load returns the module of a name: that of the binary, else one that was compiled before
// and is kept in a folder of dir, else one that it compiles, which needs Go and no network.
// It calls compiling before the last, which takes up to a minute. With an empty dir it keeps
// nothing. The error is a *MissingError, or that of a context that has ended.
func Load(ctx context.Context, name, dir string, compiling func()) ([]byte, error) {
	if b, err := dist.ReadFile("dist/" + name + ".wasm"); err == nil {
		return b, nil
	}
	return loadKept(ctx, name, dir, compiling)
}

// folders are where the source of each module is, in wasm-parsers.
var folders = map[string]string{Name: "builtin", Template: "templateplugin"}

// loadKept is Load where the binary has no module.
func loadKept(ctx context.Context, name, dir string, compiling func()) ([]byte, error) {
	version, err := sourceHash()
	if err != nil {
		return nil, &MissingError{err}
	}
	file := filepath.Join(dir, "parsers-"+version, name+".wasm")
	if dir != "" {
		if b, err := os.ReadFile(file); err == nil {
			return b, nil
		}
	}
	if _, err := exec.LookPath("go"); err != nil {
		return nil, &MissingError{errors.New(`there is no "go" in PATH; install it from https://go.dev/dl, or use a program that "make build" has made`)}
	}
	compiling()
	b, err := author.BuildParsers(ctx, folders[name])
	if failed, ok := errors.AsType[*author.BuildError](err); ok {
		first, _, _ := strings.Cut(failed.Output, "\n")
		return nil, &MissingError{fmt.Errorf("go build failed: %s", first)}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &MissingError{err}
	}
	if dir != "" {
		_ = wholefile.Write(file, b, 0o700, 0o600) // without it the next start takes as long
	}
	return b, nil
}

// sourceHash stands for the source that the program carries.
func sourceHash() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(callgate.Source(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		b, err := fs.ReadFile(callgate.Source(), name)
		fmt.Fprintf(sum, "%s %d\n", name, len(b))
		sum.Write(b)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:8]), err
}
