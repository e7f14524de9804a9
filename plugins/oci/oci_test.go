package oci_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	oras "oras.land/oras-go/v2"
	store "oras.land/oras-go/v2/content/oci"

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

func pull(t *testing.T, text, dir string) (*oci.Plugin, error) {
	t.Helper()
	ref, err := oci.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return oci.Pull(t.Context(), ref, dir)
}

func TestLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layout, err := store.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	good := push(t, layout, layer{`..\..\evil.wasm`, "application/octet-stream", wasm})
	p, err := pull(t, "oci:"+dir+"@"+good.String(), "")
	if err != nil || !bytes.Equal(p.Wasm, wasm) || p.File != "evil.wasm" {
		t.Errorf("got %+v, %v", p, err)
	}
	tests := []struct {
		name   string
		layers []layer
		want   string
	}{
		{"no plugin", []layer{{"a.txt", "text/plain", []byte("a")}}, "it has 0 layers of WebAssembly, want 1"},
		{"two plugins", []layer{{"a.wasm", "application/wasm", []byte("x")}, {"b.wasm", "application/wasm", []byte("y")}}, "it has 2 layers of WebAssembly, want 1"},
	}
	for _, tt := range tests {
		d := push(t, layout, tt.layers...)
		if _, err := pull(t, "oci:"+dir+"@"+d.String(), ""); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	if _, err := pull(t, "oci:"+dir+"@"+digest.FromBytes([]byte("nothing")).String(), ""); err == nil {
		t.Error("of a digest that is not there: got no error")
	}
	if _, err := pull(t, "oci:"+dir+"@"+digest.FromBytes(wasm).String(), ""); err == nil || !strings.Contains(err.Error(), "is not a manifest") {
		t.Errorf("of the digest of a file: got %v", err)
	}
	if _, err := pull(t, "oci:"+filepath.Join(dir, "nowhere")+"@"+good.String(), ""); err == nil {
		t.Error("of a directory that is not there: got no error")
	}
}

// The list of what a layout holds is as little to be believed as a tag: it may give the digest to
// another manifest, or have one that takes all memory.
func TestLyingIndex(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, index string }{
		{"a manifest under the digest of another", `{"schemaVersion":2,"manifests":[{"mediaType":%q,"digest":%[2]q,"size":%[3]d,"annotations":{"org.opencontainers.image.ref.name":%[4]q}}]}`},
		{"a manifest without an end", `{"schemaVersion":2,"manifests":[{"mediaType":%q,"digest":%[2]q,"size":1125899906842624}]}`},
		{"none at all", ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			layout, err := store.New(dir)
			if err != nil {
				t.Fatal(err)
			}
			good := push(t, layout, layer{"mine.wasm", "application/wasm", wasm})
			evil := push(t, layout, layer{"mine.wasm", "application/wasm", []byte("something else")})
			info, err := os.Stat(filepath.Join(dir, "blobs", "sha256", evil.Encoded()))
			if err != nil {
				t.Fatal(err)
			}
			index := tt.index
			if index != "" {
				index = fmt.Sprintf(index, ocispec.MediaTypeImageManifest, evil, info.Size(), good)
			}
			if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte(index), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := pull(t, "oci:"+dir+"@"+good.String(), "")
			if err != nil || !bytes.Equal(p.Wasm, wasm) {
				t.Errorf("got %+v, %v, want what the digest is of", p, err)
			}
		})
	}
}

// layoutOf is a folder with a layout of one plugin, and its digest.
func layoutOf(t *testing.T) (dir string, good digest.Digest) {
	t.Helper()
	dir = t.TempDir()
	layout, err := store.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, push(t, layout, layer{"mine.wasm", "application/wasm", wasm})
}

// A file that is not what its name says is not the plugin.
func TestDamagedLayout(t *testing.T) {
	t.Parallel()
	dir, good := layoutOf(t)
	for _, of := range []digest.Digest{digest.FromBytes(wasm), good} {
		name := filepath.Join(dir, "blobs", "sha256", of.Encoded())
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, bytes.ToUpper(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := pull(t, "oci:"+dir+"@"+good.String(), ""); err == nil {
			t.Errorf("with %s damaged: got %+v, want an error", of, p)
		}
	}
}

// Gateways that start at once and share a cache all get the plugin, and keep one copy of it.
func TestPullAtOnce(t *testing.T) {
	t.Parallel()
	served, good := layoutOf(t)
	server := httptest.NewServer(registryOf(served))
	defer server.Close()
	name := strings.TrimPrefix(server.URL, "http://") + "/me/mine@" + good.String()
	for range 20 {
		dir := t.TempDir()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				ref, err := oci.Parse(name)
				if err != nil {
					t.Error(err)
					return
				}
				if p, err := oci.Pull(t.Context(), ref, dir); err != nil || !bytes.Equal(p.Wasm, wasm) {
					t.Errorf("got %+v, %v", p, err)
				}
			})
		}
		all.Wait()
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%d entries are left, %v, want 1", len(left), err)
		}
	}
}

// TestLeftOver has what processes left that were ended while they pulled: it does not stay.
func TestLeftOver(t *testing.T) {
	t.Parallel()
	served, good := layoutOf(t)
	server := httptest.NewServer(registryOf(served))
	defer server.Close()
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"pull123": 2 * time.Hour, "pull456": 0, "other": 2 * time.Hour} {
		at := time.Now().Add(-age)
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o700), os.WriteFile(filepath.Join(dir, name, "blob"), wasm, 0o600), os.Chtimes(filepath.Join(dir, name), at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pull(t, strings.TrimPrefix(server.URL, "http://")+"/me/mine@"+good.String(), dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if want := []string{good.Encoded(), "other", "pull456"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q, %v, want %q: another process may be at work on what is new", names, err, want)
	}
}

// registryOf serves the blobs of a layout as a registry does.
func registryOf(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, hex, ok := strings.Cut(r.URL.Path, "/sha256:")
		if !ok {
			return
		}
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		}
		http.ServeFile(w, r, filepath.Join(dir, "blobs", "sha256", hex))
	})
}

// A registry cannot make the gateway fetch without an end.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layout, err := store.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":%q,"size":2},"layers":[{"mediaType":"application/wasm","digest":%q,"size":%d}]}`,
		ocispec.MediaTypeImageManifest, digest.FromString("{}"), digest.FromBytes(wasm), 1<<40)
	if _, err := oras.PushBytes(context.Background(), layout, "application/json", []byte(text)); err != nil {
		t.Fatal(err)
	}
	_, err = pull(t, "oci:"+dir+"@"+digest.FromString(text).String(), "")
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v, want that it is too large", err)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	sum := digest.FromBytes(wasm).String()
	for _, good := range []string{"ghcr.io/me/mine@" + sum, "localhost:5000/mine@" + sum, "oci:./layout@" + sum} {
		ref, err := oci.Parse(good)
		if err != nil || ref.String() != good {
			t.Errorf("%s: got %v, %v", good, ref, err)
		}
	}
	for _, bad := range []string{"", "ghcr.io/me/mine", "ghcr.io/me/mine:latest", "ghcr.io/me/mine:latest@" + sum, "mine@" + sum, "oci:@" + sum,
		"ghcr.io/me/mine@sha256:00", "ghcr.io/me/mine@sha512:" + strings.Repeat("0", 128), "https://ghcr.io/me/mine@" + sum, "GHCR.io/Me/Mine@" + sum} {
		if ref, err := oci.Parse(bad); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, %v, want one line", bad, ref, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ghcr.io/me/mine@" + digest.FromBytes(wasm).String())
	f.Add("oci:a@b")
	f.Fuzz(func(t *testing.T, text string) {
		if ref, err := oci.Parse(text); err == nil {
			if again, err := oci.Parse(ref.String()); err != nil || again != ref {
				t.Errorf("%q: read again: %v, %v", text, again, err)
			}
		}
	})
}
