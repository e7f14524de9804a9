package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/callgate/callgate/internal/digest"
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
	if err := writePlugin(file, plugin.Wasm); err != nil {
		return usageError{err}
	}
	_, err = fmt.Fprintf(e.stdout, "%s\nplugins: {pins: {%s: %q}}\n", file, plugin.File, digest.Of(plugin.Wasm))
	return err
}
