package author

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/callgate/callgate"
)

const (
	starterName = "my_model" // everywhere in the starters
	vendored    = "third_party/callgate"
	modulePath  = "github.com/callgate/callgate"
)

// validName is what a file, a Go module and a parser can all be called, on every system.
var validName = regexp.MustCompile(`^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`)

// maxName is how long a name may be.
const maxName = 48

// CheckName says why a plugin cannot have the name, or nil. The name is that of the
// folder, the Go module, the parser and the file.
func CheckName(name string) error {
	if len(name) > maxName || !validName.MatchString(name) {
		return fmt.Errorf("name %.60q: use up to %d lower-case letters and digits that begin with a letter, with single _ or - between them, such as %s", name, maxName, starterName)
	}
	if slices.Contains(strings.Fields(reserved), name) {
		return fmt.Errorf("name %q: it means something else to Go or to Windows; choose another, such as %s_model", name, name)
	}
	return nil
}

// reserved are names of Go's own packages and patterns, which a module may not have, and
// of devices, which a file may not have on Windows.
const reserved = `archive bufio builtin bytes cmp compress container context crypto database debug embed encoding errors expvar
	flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort
	strconv strings structs sync syscall testing text time unicode unique unsafe weak vendor
	all cmd main std test tool work
	aux con nul prn com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`

// Languages are those that New knows, as it takes them.
func Languages() []string { return []string{Go, Rust, C, AssemblyScript} }

// The languages of plugins.
const (
	Go             = "go"
	Rust           = "rust"
	C              = "c"
	AssemblyScript = "assemblyscript"
)

// starters are the folders that a project is made of, and where in it they are put.
var starters = map[string]map[string]string{
	Go:             {"sdk/examples/starter": "."},
	Rust:           {"sdk/examples/lines-rust": ".", cases: "testdata"},
	C:              {"sdk/examples/lines-c": ".", cases: "testdata"},
	AssemblyScript: {"sdk/examples/lines-assemblyscript": ".", cases: "testdata"},
}

// cases are those of the starters in other languages than Go.
const cases = "sdk/examples/cases"

// New writes a project for a plugin called name in a language into dir, which must be empty or
// not be there: the starter with that name. Beside one in Go stands the SDK that the program
// carries, so that neither a download nor a go.sum is needed; the others have what they need of
// it in a file of their own. It never changes a file.
func New(dir, name, language string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	folders, ok := starters[language]
	if !ok {
		return fmt.Errorf("language %.60q: use one of %s", language, strings.Join(Languages(), ", "))
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%s exists already and is not empty: give another folder with --dir, or remove it", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	source := callgate.Source()
	if language == Go {
		if err := writeSDK(source, dir, name); err != nil {
			return err
		}
	}
	rename := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(starterName), []byte(name)) }
	for from, to := range folders {
		if err := copyFiles(source, from, filepath.Join(dir, to), func(string) bool { return true }, rename); err != nil {
			return err
		}
	}
	return nil
}

// writeSDK writes the SDK into a project in Go, and the go.mod that finds it there.
func writeSDK(source fs.FS, dir, name string) error {
	version, err := goVersion(source)
	if err != nil {
		return err
	}
	if err := writeModule(source, filepath.Join(dir, filepath.FromSlash(vendored)), "sdk"); err != nil {
		return err
	}
	mod := fmt.Sprintf("module %s\n\n%s\n\nrequire %s v0.0.0\n\nreplace %s => ./%s\n", name, version, modulePath, modulePath, vendored)
	return writeFile(filepath.Join(dir, "go.mod"), []byte(mod))
}

// writeModule writes packages of this module, as a module of the same path: those below some
// folders without their tests and examples, and the licence.
func writeModule(source fs.FS, dir string, folders ...string) error {
	version, err := goVersion(source)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "go.mod"), []byte("module "+modulePath+"\n\n"+version+"\n")); err != nil {
		return err
	}
	licence, err := fs.ReadFile(source, "LICENSE")
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "LICENSE"), licence); err != nil {
		return err
	}
	wanted := func(name string) bool {
		return !strings.HasPrefix(name, "examples/") && !strings.HasSuffix(name, "_test.go")
	}
	for _, folder := range folders {
		if err := copyFiles(source, folder, filepath.Join(dir, folder), wanted, func(b []byte) []byte { return b }); err != nil {
			return err
		}
	}
	return nil
}

// goVersion is the line of go.mod that says which Go is needed.
func goVersion(source fs.FS) (string, error) {
	mod, err := fs.ReadFile(source, "go.mod")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mod)) {
		if strings.HasPrefix(line, "go ") {
			return strings.TrimSpace(line), nil
		}
	}
	return "", errors.New("go.mod names no version of Go")
}

// copyFiles writes the wanted files under root to dir. wanted gets their paths from root.
func copyFiles(source fs.FS, root, dir string, wanted func(name string) bool, change func([]byte) []byte) error {
	return fs.WalkDir(source, root, func(name string, entry fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, root+"/")
		if err != nil || entry.IsDir() || !wanted(rel) {
			return err
		}
		b, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		return writeFile(filepath.Join(dir, filepath.FromSlash(path.Clean(rel))), change(b))
	})
}

// writeFile writes a file that is not there yet.
func writeFile(file string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // source is for all to read
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // source is for all to read
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
