package registry_test

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	oras "oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/callgate/callgate/plugins/oci"
)

var wasm = []byte("\x00asm\x01\x00\x00\x00 a plugin")

// layer is a file of an artifact, as "oras push" makes them.
type layer struct {
	title, mediaType string
	data             []byte
}

// push puts an artifact somewhere and returns its digest.
func push(t *testing.T, target oras.Target, layers ...layer) digest.Digest {
	t.Helper()
	var packed []ocispec.Descriptor
	for _, l := range layers {
		d, err := oras.PushBytes(t.Context(), target, l.mediaType, l.data)
		if err != nil {
			t.Fatal(err)
		}
		if l.title != "" {
			d.Annotations = map[string]string{ocispec.AnnotationTitle: l.title}
		}
		packed = append(packed, d)
	}
	d, err := oras.PackManifest(t.Context(), target, oras.PackManifestVersion1_1, "application/vnd.callgate.plugin", oras.PackManifestOptions{Layers: packed})
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Tag(t.Context(), d, "latest"); err != nil {
		t.Fatal(err)
	}
	return d.Digest
}

// hub is a registry on loopback. stop ends it.
func hub(t *testing.T) (repository *remote.Repository, name string, stop func()) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	name = strings.TrimPrefix(server.URL, "http://") + "/parsers/mine"
	repository, err := remote.NewRepository(name)
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	return repository, name, server.Close
}

func pull(t *testing.T, text, dir string) (*oci.Plugin, error) {
	t.Helper()
	ref, err := oci.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return oci.Pull(t.Context(), ref, dir)
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	repository, name, stop := hub(t)
	d := push(t, repository, layer{"README.md", "text/markdown", []byte("about")}, layer{"my_model.wasm", "application/wasm", wasm})
	dir := filepath.Join(t.TempDir(), "kept")
	for i := range 3 {
		p, err := pull(t, name+"@"+d.String(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.Wasm, wasm) || p.File != "my_model.wasm" {
			t.Errorf("pull %d: got %q, %q", i, p.File, p.Wasm)
		}
		if i == 1 {
			stop() // what was pulled once is there without the registry
		}
	}
	if _, err := pull(t, name+"@"+d.String(), ""); err == nil {
		t.Error("without the registry and a directory: got no error")
	}
}

// What somebody has changed on disk is fetched again.
func TestDamagedCopy(t *testing.T) {
	t.Parallel()
	repository, name, _ := hub(t)
	d := push(t, repository, layer{"", "application/wasm", wasm})
	dir := t.TempDir()
	for range 2 {
		p, err := pull(t, name+"@"+d.String(), dir)
		if err != nil || !bytes.Equal(p.Wasm, wasm) || p.File != "mine.wasm" {
			t.Fatalf("got %+v, %v", p, err)
		}
		blob := filepath.Join(dir, d.Encoded(), "blobs", "sha256", digest.FromBytes(wasm).Encoded())
		if err := os.Chmod(blob, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(blob, bytes.Replace(wasm, []byte("a plugin"), []byte("another!"), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
