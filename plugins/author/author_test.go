package author_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins/author"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"my_model": true, "m": true, "qwen9-coder": true, "a1_b2-c3": true, strings.Repeat("a", 48): true,
		"": false, "My": false, "1a": false, "a/b": false, "../a": false, "a.b": false, "a_": false, "_a": false, "a__b": false, "é": false,
		"a b": false, "-a": false, "fmt": false, "testing": false, "con": false, "main": false, strings.Repeat("a", 49): false,
	} {
		if err := author.CheckName(name); (err == nil) != good {
			t.Errorf("name %q: got %v, want it to be good: %t", name, err, good)
		}
	}
}

// TestNew checks what is written, and that nothing that is there already is touched.
func TestNew(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "nova_2")
	if err := author.New(dir, "nova_2", author.Go); err != nil {
		t.Fatal(err)
	}
	files := filesIn(t, dir)
	for _, want := range []string{
		"go.mod", "README.md", "main.go", "parser.go", "parser_test.go", "testdata/call.case", "testdata/tools.json",
		"third_party/callgate/LICENSE", "third_party/callgate/go.mod", "third_party/callgate/sdk/guest.go", "third_party/callgate/sdk/sdktest/golden.go",
	} {
		if !slices.Contains(files, want) {
			t.Errorf("got no file %s in %v", want, files)
		}
	}
	for _, file := range files {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file, "examples") || strings.HasPrefix(file, "third_party") && strings.HasSuffix(file, "_test.go") {
			t.Errorf("got file %s, want the SDK without tests and examples", file)
		}
		if !strings.HasPrefix(file, "third_party") && strings.Contains(string(b), "my_model") {
			t.Errorf("%s still has the starter's name", file)
		}
	}
	main, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil || !strings.Contains(string(main), `sdk.Module("nova_2", `) {
		t.Errorf("got main.go %q, %v, want the module called nova_2", main, err)
	}
	if err := author.New(dir, "nova_2", author.Go); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second time: got %v, want it refused", err)
	}
	empty := t.TempDir()
	if err := author.New(empty, "nova_2", author.Go); err != nil {
		t.Errorf("into an empty folder: %v", err)
	}
	if err := author.New(filepath.Join(empty, "go.mod"), "nova_2", author.Go); err == nil {
		t.Error("into a file: got no error")
	}
	if err := author.New(filepath.Join(empty, "other"), "Nova", author.Go); err == nil {
		t.Error("a bad name: got no error")
	}
	if _, err := os.Stat(filepath.Join(empty, "other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a bad name: got a folder (%v)", err)
	}
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path) // it lies in it
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestProject vets and tests a new project as its author would, without a network and
// without the modules that this machine has.
func TestProject(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nova")
	if err := author.New(dir, "nova", author.Go); err != nil {
		t.Fatal(err)
	}
	before := filesIn(t, dir)
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-run", "Golden|Example|CanParse", "."}, {"test", "-run", "^$", "-fuzz", "FuzzParser", "-fuzztime", "100x", "."}, {"mod", "verify"}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off", "GOMODCACHE="+filepath.Join(t.TempDir(), "mod"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
	if after := filesIn(t, dir); !slices.Equal(before, after) {
		t.Errorf("got files %v, want no other than %v: no go.sum is needed", after, before)
	}
	unformatted, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).CombinedOutput()
	if err != nil || len(unformatted) > 0 {
		t.Errorf("gofmt: %v, %s", err, unformatted)
	}
}

// TestBuild builds a project, and some that cannot be built.
func TestBuild(t *testing.T) {
	t.Parallel()
	project := func(change func(dir string) error) string {
		dir := filepath.Join(t.TempDir(), "nova")
		if err := errors.Join(author.New(dir, "nova", author.Go), change(dir)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	write := func(name, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	}
	wasm, err := author.Build(t.Context(), project(write("notes.txt", "")), io.Discard)
	if err != nil || !strings.HasPrefix(string(wasm), "\x00asm") {
		t.Errorf("got %d bytes, %v, want a module", len(wasm), err)
	}
	again, err := author.Build(t.Context(), project(write("notes.txt", "")), io.Discard)
	if err != nil || string(again) != string(wasm) {
		t.Errorf("in another folder: got %d bytes, %v, want the same %d", len(again), err, len(wasm))
	}
	for _, tt := range []struct {
		name, dir string
		want      string // in what the toolchain prints
	}{
		{"compile error", project(write("more.go", "package main\n\nfunc f() { undefined() }\n")), "more.go:3:12: undefined: undefined"},
		{"no main", project(func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "main.go")), os.Remove(filepath.Join(dir, "parser.go")), os.Remove(filepath.Join(dir, "parser_test.go")), write("p.go", "package p\n")(dir))
		}), "requires exactly one main package"},
		{"a module that is not here", project(write("more.go", "package main\n\nimport _ \"example.com/other\"\n")), "example.com/other"},
	} {
		_, err := author.Build(t.Context(), tt.dir, io.Discard)
		e, ok := errors.AsType[*author.BuildError](err)
		if !ok || !strings.Contains(e.Output, tt.want) || strings.Contains(e.Error(), "\n") {
			t.Errorf("%s: got %v, %q, want a BuildError with %q", tt.name, err, output(e), tt.want)
		}
	}
	for name, change := range map[string]func(string) error{
		"no module":   func(dir string) error { return os.Remove(filepath.Join(dir, "go.mod")) },
		"no Go files": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) },
	} {
		if _, err := author.Build(t.Context(), project(change), io.Discard); err == nil || !strings.Contains(err.Error(), "is not a project of a plugin") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := author.Build(t.Context(), filepath.Join(t.TempDir(), "none"), io.Discard); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: got %v", err)
	}
}

func output(e *author.BuildError) string {
	if e == nil {
		return ""
	}
	return e.Output
}

// TestBuildInOtherModes has settings of the user's that would have Go look for packages elsewhere.
func TestBuildInOtherModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nova")
	if err := author.New(dir, "nova", author.Go); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GO111MODULE", "off")
	t.Setenv("GOFLAGS", "-mod=vendor -tags=other")
	if wasm, err := author.Build(t.Context(), dir, io.Discard); err != nil || !strings.HasPrefix(string(wasm), "\x00asm") {
		t.Errorf("got %d bytes, %v, want a module", len(wasm), err)
	}
}

func TestBuildWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := author.Build(t.Context(), t.TempDir(), io.Discard); !errors.Is(err, author.ErrNoGo) {
		t.Errorf("got %v, want %v", err, author.ErrNoGo)
	}
}

// TestBuildWithOtherC says what to do where CC in the environment is no compiler for this.
func TestBuildWithOtherC(t *testing.T) {
	dir, bin := filepath.Join(t.TempDir(), "mine"), t.TempDir()
	if err := author.New(dir, "mine", author.C); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "gcc"), []byte("#!/bin/sh\necho 'gcc (GCC) 14.2.0'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	for cc, want := range map[string]string{
		"":            `there is no "clang" in PATH: install it with apt-get install clang lld, or name another with CC`,
		"gcc -O2":     `CC in the environment is "gcc", which is not clang: unset CC, or let it name clang`,
		"clang-zz cc": `CC in the environment is "clang-zz", which is not in PATH: unset CC, or let it name clang`,
	} {
		t.Setenv("CC", cc)
		_, err := author.Build(t.Context(), dir, io.Discard)
		if _, ok := errors.AsType[*author.ToolchainError](err); !ok || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("CC=%q: got %v, want %q", cc, err, want)
		}
	}
}
