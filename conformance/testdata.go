package conformance

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed testdata
var testdata embed.FS

// Cases returns the cases of the suite, by name.
func Cases() ([]Case, error) {
	sub, err := fs.Sub(testdata, "testdata")
	if err != nil {
		return nil, err
	}
	return ReadCases(sub)
}

// ReadCases reads all cases, files that end in .txtar, of a file system and the
// directories in it. It is for cases beside the suite's own.
func ReadCases(fsys fs.FS) ([]Case, error) {
	var cases []Case
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".txtar" {
			return err
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		c, err := ParseCase(strings.TrimSuffix(name, ".txtar"), text)
		cases = append(cases, c)
		return err
	})
	return cases, err
}
