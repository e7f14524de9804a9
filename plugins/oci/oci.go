// Package oci gets plugins from OCI registries and layouts, by digest alone: a tag may name
// something else tomorrow.
package oci

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	oras "oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/callgate/callgate/internal/netaddr"
	"github.com/callgate/callgate/internal/plainfile"
)

// Bounds on what is fetched.
const (
	maxManifest = 1 << 20
	maxPlugin   = 64 << 20
)

// Ref names a plugin in a registry, HOST/REPOSITORY@sha256:DIGEST, or in a layout on disk,
// oci:DIRECTORY@sha256:DIGEST. The digest is that of the manifest.
type Ref struct {
	layout     string // "" for a registry
	repository string
	digest     digest.Digest
}

// Parse reads a reference.
func Parse(text string) (Ref, error) {
	name, sum, ok := strings.Cut(text, "@")
	if !ok {
		return Ref{}, fmt.Errorf("%q has no digest: name it as REPOSITORY@sha256:…, a tag may change", text)
	}
	d, err := digest.Parse(sum)
	if err != nil || d.Algorithm() != digest.SHA256 {
		return Ref{}, fmt.Errorf("%q: the digest is not sha256: and 64 hex digits", text)
	}
	if dir, ok := strings.CutPrefix(name, "oci:"); ok {
		if dir == "" {
			return Ref{}, fmt.Errorf("%q names no directory behind its oci: prefix", text)
		}
		return Ref{layout: dir, digest: d}, nil
	}
	r, err := registry.ParseReference(name)
	if err != nil || r.Reference != "" {
		return Ref{}, fmt.Errorf("%q is not HOST/REPOSITORY@sha256:… or oci:DIRECTORY@sha256:…", text)
	}
	return Ref{repository: name, digest: d}, nil
}

// Plugin is what was pulled.
type Plugin struct {
	// File is a name for it, without a directory: its title, or the repository's last
	// part.
	File string
	Wasm []byte
}

// Pull fetches a plugin and checks it against the digest. It is kept in a layout below dir,
// and not fetched again from there; with an empty dir it is not kept. Registries on
// loopback are asked over plain HTTP. Credentials are those of docker login.
func Pull(ctx context.Context, ref Ref, dir string) (*Plugin, error) {
	if dir == "" || ref.layout != "" {
		return ref.pull(ctx)
	}
	kept := ref
	kept.layout = filepath.Join(dir, ref.digest.Encoded())
	if p, err := kept.pull(ctx); err == nil {
		return p, nil
	}
	return ref.copy(ctx, kept)
}

// pull reads the plugin where it is.
func (r Ref) pull(ctx context.Context) (*Plugin, error) {
	source, err := r.open()
	if err != nil {
		return nil, err
	}
	return r.read(ctx, source)
}

// open opens where a plugin is.
func (r Ref) open() (oras.ReadOnlyTarget, error) {
	if r.layout != "" {
		files := plainfile.DirFS(r.layout)
		return blobs{oci.NewStorageFromFS(files), files}, nil
	}
	repository, err := remote.NewRepository(r.repository)
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = netaddr.LoopbackRegistry(repository.Reference.Host())
	client := &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache()}
	if store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{}); err == nil { // else nobody has logged in
		client.Credential = credentials.Credential(store)
	}
	repository.Client = client
	return repository, nil
}

// blobs are the files of a layout. Its index is not read: that names manifests as its writer likes,
// also one by the digest of another.
type blobs struct {
	*oci.ReadOnlyStorage

	files fs.FS
}

// Resolve implements oras.ReadOnlyTarget, for digests alone.
func (b blobs) Resolve(_ context.Context, reference string) (ocispec.Descriptor, error) {
	d, err := digest.Parse(reference)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	info, err := fs.Stat(b.files, path.Join(ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded()))
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: d, Size: info.Size()}, nil
}

// read takes the plugin out of a place. Each part is checked against its digest and size.
func (r Ref) read(ctx context.Context, source oras.ReadOnlyTarget) (*Plugin, error) {
	d, text, err := oras.FetchBytes(ctx, source, r.digest.String(), oras.FetchBytesOptions{MaxBytes: maxManifest})
	if err == nil && d.Digest != r.digest {
		err = fmt.Errorf("its digest is %s", d.Digest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the manifest: %w", r, err)
	}
	layer, err := r.layer(text)
	if err != nil {
		return nil, err
	}
	wasm, err := content.FetchAll(ctx, source, layer)
	if err != nil {
		return nil, fmt.Errorf("%s: the plugin: %w", r, err)
	}
	return &Plugin{File: r.file(layer), Wasm: wasm}, nil
}

// layer is the plugin's place, by the manifest.
func (r Ref) layer(text []byte) (ocispec.Descriptor, error) {
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil || manifest.Layers == nil {
		return ocispec.Descriptor{}, fmt.Errorf("%s is not a manifest with layers; an index is not accepted", r)
	}
	layer, err := pick(manifest.Layers)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("%s: %w", r, err)
	}
	return layer, nil
}

// wasmTypes are the media types that tools give to WebAssembly.
var wasmTypes = []string{ //nolint:gochecknoglobals // a table
	"application/wasm", "application/vnd.wasm.content.layer.v1+wasm", "application/vnd.module.wasm.content.layer.v1+wasm",
}

// pick finds the one layer that is WebAssembly by its type or its title.
func pick(layers []ocispec.Descriptor) (ocispec.Descriptor, error) {
	layers = slices.DeleteFunc(slices.Clone(layers), func(d ocispec.Descriptor) bool {
		return !slices.Contains(wasmTypes, d.MediaType) && !strings.HasSuffix(d.Annotations[ocispec.AnnotationTitle], ".wasm")
	})
	switch {
	case len(layers) != 1:
		return ocispec.Descriptor{}, fmt.Errorf("it has %d layers of WebAssembly, want 1", len(layers))
	case layers[0].Size > maxPlugin:
		return ocispec.Descriptor{}, fmt.Errorf("the plugin has %d bytes, more than %d", layers[0].Size, maxPlugin)
	}
	return layers[0], nil
}

// plainName is the name of a file that is no hidden one, leaves no directory and can be
// printed.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.wasm$`)

// file is a name for the plugin: its title, which is the publisher's word, if that is fit.
func (r Ref) file(layer ocispec.Descriptor) string {
	name := path.Base(strings.ReplaceAll(layer.Annotations[ocispec.AnnotationTitle], `\`, "/"))
	if plainName.MatchString(name) {
		return name
	}
	if name = path.Base(cmp.Or(r.repository, filepath.ToSlash(r.layout))) + ".wasm"; plainName.MatchString(name) {
		return name
	}
	return "plugin.wasm"
}

// String implements fmt.Stringer.
func (r Ref) String() string {
	if r.layout != "" {
		return "oci:" + r.layout + "@" + r.digest.String()
	}
	return r.repository + "@" + r.digest.String()
}

// copy copies the plugin into a layout, which is there only when it is whole, and reads it before:
// others that pull the same may put theirs into its place.
func (r Ref) copy(ctx context.Context, kept Ref) (*Plugin, error) {
	source, err := r.open()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(kept.layout), 0o700); err != nil {
		return nil, err
	}
	clean(filepath.Dir(kept.layout))
	tmp, err := os.MkdirTemp(filepath.Dir(kept.layout), staging)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	store, err := oci.New(tmp)
	if err != nil {
		return nil, err
	}
	options := oras.DefaultCopyOptions
	options.FindSuccessors = r.successors
	if _, err := oras.Copy(ctx, source, r.digest.String(), store, r.digest.String(), options); err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	p, err := r.read(ctx, store)
	if err != nil {
		return nil, err
	}
	err = os.Rename(tmp, kept.layout)
	if errors.Is(err, os.ErrExist) {
		if _, damaged := kept.pull(ctx); damaged == nil {
			return p, nil // another process was faster
		}
		_ = os.RemoveAll(kept.layout)
		err = os.Rename(tmp, kept.layout)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return p, nil
}

// Where a plugin is while it is copied, and how long that takes at most.
const (
	staging   = "pull"
	staleTime = time.Hour
)

// clean removes what processes left that were ended while they copied.
func clean(dir string) {
	entries, _ := os.ReadDir(dir) // one that cannot be read is noticed when a plugin is kept there
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), staging) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleTime {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// successors has nothing copied but the manifest and the plugin, whatever else the manifest
// names, and neither if they are too large.
func (r Ref) successors(ctx context.Context, fetcher content.Fetcher, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	if d.Digest != r.digest {
		return nil, nil
	}
	if d.Size > maxManifest {
		return nil, fmt.Errorf("the manifest has %d bytes, more than %d", d.Size, maxManifest)
	}
	text, err := content.FetchAll(ctx, fetcher, d)
	if err != nil {
		return nil, err
	}
	layer, err := r.layer(text)
	return []ocispec.Descriptor{layer}, err
}
