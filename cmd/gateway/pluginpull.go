package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/callgate/callgate/plugins/oci"
)

type pluginPullCmd struct {
	Ref string `arg:"" help:"HOST/REPOSITORY@sha256:DIGEST, or oci:DIRECTORY@sha256:DIGEST; the digest is that of the manifest."`
	To  string `default:"plugins.d" type:"path" help:"Directory that the plugin is written to." placeholder:"DIR"`
}

// Run fetches a plugin by its digest and puts it where the gateway finds it.
func (p *pluginPullCmd) Run(e *env) error {
	ref, err := oci.Parse(p.Ref)
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := context.WithTimeout(e.ctx, pullTimeout)
	defer cancel()
	plugin, err := oci.Pull(ctx, ref, "")
	if err != nil {
		return usageError{err}
	}
	file := filepath.Join(p.To, plugin.File)
	if err := replace(file, plugin.Wasm); err != nil {
		return usageError{err}
	}
	_, err = fmt.Fprintf(e.stdout, "%s\nplugins: {pins: {%s: \"sha256:%x\"}}\n", file, plugin.File, sha256.Sum256(plugin.Wasm))
	return err
}

// replace writes a file at once: a gateway that watches the directory sees the old one or
// the new one.
func replace(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // plugins are no secret
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".pull-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
