package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"io"
)

// The image's user. Kubernetes wants a number to see that it is not root's.
const (
	user   = "65532:65532"
	userID = 65532
)

const (
	programPath = "/callgate"
	configPath  = "/etc/callgate/callgate.yaml" // where operators mount their file
	dataPath    = "/var/lib/callgate"           // for volumes: a store of kind sqlite, the journal of usage
	rootsPath   = "/etc/ssl/certs/ca-certificates.crt"
)

// architectures are those of the index, in its order.
var architectures = []string{"amd64", "arm64"}

// about is what an image says of where it came from.
type about struct {
	version, revision string
	created           time.Time
}

// labels are OCI's.
func (a about) labels() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":       "callgate",
		prefix + "description": "An OpenAI-compatible gateway that makes tool calling reliable on every model.",
		prefix + "source":      "https://github.com/callgate/callgate",
		prefix + "licenses":    "Apache-2.0",
		prefix + "version":     a.version,
		prefix + "revision":    a.revision,
		prefix + "created":     a.created.UTC().Format(time.RFC3339),
	}
}

// build makes an image of one architecture, out of a program and nothing else: the same input gives
// the same bytes.
func build(program []byte, licence []byte, arch string, a about) (v1.Image, error) {
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	// What changes seldom is in a layer of its own, so that an update pulls the program alone.
	base, err := layer(a.created, []entry{
		{name: "etc/"}, {name: "etc/callgate/"}, {name: "etc/ssl/"}, {name: "etc/ssl/certs/"},
		{name: "etc/passwd", mode: 0o644, data: []byte("callgate:x:65532:65532:callgate:/tmp:/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, data: []byte("callgate:x:65532:\n")},
		{name: rootsPath[1:], mode: 0o644, data: roots},
		{name: "tmp/", mode: 0o1777},
		{name: "var/"}, {name: "var/lib/"}, {name: dataPath[1:] + "/", mode: 0o700, owned: true},
		{name: "LICENSE", mode: 0o644, data: licence},
	})
	if err != nil {
		return nil, err
	}
	own, err := layer(a.created, []entry{{name: programPath[1:], mode: 0o755, data: program}})
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: a.created.UTC()}
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	img, err = mutate.Append(img,
		mutate.Addendum{Layer: base, History: v1.History{Created: created, CreatedBy: "certificates, a user, /tmp"}},
		mutate.Addendum{Layer: own, History: v1.History{Created: created, CreatedBy: "callgate " + a.version}})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Architecture, file.OS, file.Created = arch, "linux", created
	file.Config = v1.Config{
		User: user, WorkingDir: "/tmp", Env: []string{"PATH=/", "XDG_CACHE_HOME=/tmp/cache"},
		Entrypoint: []string{programPath}, Cmd: []string{"serve", "-c", configPath},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", programPath, "ready"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3},
		Labels:       a.labels(),
	}
	return mutate.ConfigFile(img, file)
}

// certificates are Mozilla's, as a pinned module has them, for providers over TLS.
func certificates() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil { // trusted for some names only, which a file cannot say
			continue
		}
		if _, err := x509.ParseCertificate(root.Certificate); err != nil {
			return nil, err
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// entry is a file of a layer, or a folder whose name ends in a slash.
type entry struct {
	name string
	mode int64 // 0: 0755
	data []byte
	// owned belongs to the image's user, else to root.
	owned bool
}

// layer packs entries.
func layer(at time.Time, entries []entry) (v1.Layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: at.UTC().Truncate(time.Second), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if e.owned {
			h.Uid, h.Gid = userID, userID
		}
		if e.data == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}

// images builds one for each architecture, of the programs in folders such as linux-amd64 of a
// folder.
func images(from, licenceFile string, a about) (map[string]v1.Image, error) {
	licence, err := os.ReadFile(licenceFile)
	if err != nil {
		return nil, err
	}
	out := map[string]v1.Image{}
	for _, arch := range architectures {
		program, err := os.ReadFile(filepath.Join(from, "linux-"+arch, "callgate"))
		if err != nil {
			return nil, fmt.Errorf("%w (make image builds it)", err)
		}
		if out[arch], err = build(program, licence, arch, a); err != nil {
			return nil, fmt.Errorf("%s: %w", arch, err)
		}
	}
	return out, nil
}

// index is the image of all architectures.
func index(all map[string]v1.Image) v1.ImageIndex {
	out := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		out = mutate.AppendManifests(out, mutate.IndexAddendum{Add: all[arch],
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	return out
}
