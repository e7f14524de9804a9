package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const repository = "../.."

var at = about{version: "1.2.3", revision: "abc", created: time.Date(2026, 11, 23, 7, 0, 0, 0, time.UTC)}

// program is the gateway, parsers and all: what "make test" has built, or one that is built here.
func program(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("CALLGATE_PROGRAM"); file != "" {
		return file
	}
	file := filepath.Join(t.TempDir(), "callgate")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/gateway")
	cmd.Dir, cmd.Env = repository, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return file
}

// programs is a folder that has some text as the program of each architecture.
func programs(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, arch := range architectures {
		write(t, filepath.Join(dir, "linux-"+arch, "callgate"), []byte(text+arch), 0o755)
	}
	return dir
}

func write(t *testing.T, file string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, mode); err != nil {
		t.Fatal(err)
	}
}

// TestImage looks into what "make image" writes: the same bytes each time, an image of each
// architecture that is not root's, with the program, certificates and nothing else.
func TestImage(t *testing.T) {
	t.Parallel()
	from := programs(t, "program of ")
	var digests []string
	var dir string
	for range 2 {
		dir = filepath.Join(t.TempDir(), "image")
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-repository", repository, "-from", from, "-to", dir, "-version", "v1.2.3-4+dirty"}, &out); err != nil {
			t.Fatal(err)
		}
		digests = append(digests, regexp.MustCompile(`sha256:\w{64}`).FindString(out.String()))
	}
	if digests[0] == "" || digests[0] != digests[1] {
		t.Errorf("got the digests %q, want the same twice", digests)
	}
	for _, arch := range architectures {
		tag, err := name.NewTag("callgate:v1.2.3-4-dirty")
		if err != nil {
			t.Fatal(err)
		}
		img, err := tarball.ImageFromPath(filepath.Join(dir, "callgate-linux-"+arch+".tar"), &tag)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; config.Architecture != arch || c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/callgate"}) || c.Labels["org.opencontainers.image.version"] != "v1.2.3-4+dirty" {
			t.Errorf("got %s and %+v", config.Architecture, c)
		}
		files := contents(t, img)
		if got := string(files["callgate"]); got != "program of "+arch {
			t.Errorf("%s: got the program %q", arch, got)
		}
		want := []string{"LICENSE", "callgate", "etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt"}
		var got []string
		for name, data := range files {
			if data != nil {
				got = append(got, name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("got the files %q, want %q", got, want)
		}
		if n := bytes.Count(files["etc/ssl/certs/ca-certificates.crt"], []byte("BEGIN CERTIFICATE")); n < 100 {
			t.Errorf("got %d certificates, want more", n)
		}
	}
}

// contents are the files of an image; folders have none.
func contents(t *testing.T, img v1.Image) map[string][]byte {
	t.Helper()
	in := mutate.Extract(img)
	defer in.Close()
	out := map[string][]byte{}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if own := strings.TrimSuffix(h.Name, "/") == dataPath[1:]; own != (h.Uid == userID) || own != (h.Gid == userID) {
			t.Errorf("%s belongs to %d:%d; all but the data is root's, so that the program cannot change it", h.Name, h.Uid, h.Gid)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			data = nil
		}
		out[h.Name] = data
	}
}

// TestImagePush pushes to a registry and pulls each architecture from it.
func TestImagePush(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/team/callgate:1.2.3"
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-repository", repository, "-from", programs(t, "p"), "-push", to, "-version", "1.2.3"}, &out); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range architectures {
		img, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(t, img)["callgate"]; string(got) != "p"+arch {
			t.Errorf("%s: got the program %q", arch, got)
		}
	}
}

// TestDockerfile holds that the Dockerfile says what the image of "make image" has.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := build([]byte("p"), []byte("l"), "arm64", at)
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := file.Config
	want := []string{"FROM scratch\n", "\nUSER " + c.User + "\n", "\nWORKDIR " + c.WorkingDir + "\n", `ENTRYPOINT ["` + strings.Join(c.Entrypoint, `", "`) + `"]`,
		`CMD ["` + strings.Join(c.Cmd, `", "`) + `"]`, "\nENV " + strings.Join(c.Env, " ") + "\n", "EXPOSE 8080\n",
		"HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD [\"" + strings.Join(c.Healthcheck.Test[1:], `", "`) + `"]`}
	for key, value := range c.Labels {
		switch value {
		case at.version, at.revision:
			want = append(want, key+`="$`)
		case at.created.Format(time.RFC3339): // Docker says when itself
		default:
			want = append(want, key+`="`+value+`"`)
		}
	}
	for path, data := range contents(t, img) {
		if path == "etc/passwd" || path == "etc/group" {
			want = append(want, strings.TrimSpace(string(data)))
		}
	}
	for _, w := range want {
		if !strings.Contains(string(text), w) {
			t.Errorf("the Dockerfile does not say %q", w)
		}
	}
}

// TestContext holds that .dockerignore leaves in what the program is built from.
func TestContext(t *testing.T) {
	t.Parallel()
	ignore, err := os.ReadFile(filepath.Join(repository, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./cmd/gateway")
	list.Dir = repository
	packages, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for pkg := range strings.FieldsSeq(string(packages)) {
		if own, ok := strings.CutPrefix(pkg, "github.com/callgate/callgate/"); ok {
			top, _, _ := strings.Cut(own, "/")
			if found[top] = true; !strings.Contains(string(ignore), "\n!"+top+"\n") {
				t.Errorf("the program has %s, which .dockerignore leaves out", pkg)
			}
		}
	}
	if len(found) < 5 {
		t.Errorf("got the folders %v, want more: are they found?", found)
	}
}

// TestImageRuns unpacks the image with the real program, and runs it in there as the image says:
// as its user, with no other file, on a root that cannot be written to.
func TestImageRuns(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("a Linux image runs on Linux only")
	}
	file := program(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) > 0 || slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Skipf("the program needs libraries %q, since it was built with a C compiler: make image builds it without", libraries)
	}
	img, err := build(text, []byte("licence"), runtime.GOARCH, at)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("", "callgate-image") // others may look into it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range contents(t, img) {
		switch to := filepath.Join(root, name); {
		case data == nil:
			err = os.MkdirAll(to, 0o755)
		default:
			write(t, to, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "etc/callgate/callgate.yaml"), []byte("providers: {demo: {type: demo}}\nlisten: 127.0.0.1:18976\nadmin: {listen: off}\nstore: {kind: off}\n"), 0o644)
	// What a container has: /proc, a /tmp of its own, a root that is read only.
	script := `set -e
mkdir -p "$0/proc" && mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/tmp" && mount -o remount,ro,bind "$0"
exec env -i ` + strings.Join(config(t, img).Env, " ") + ` "$(command -v chroot)" --userspec=` + user + ` "$0" "$@"`
	inside := func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, root}, args...)...)
		cmd.WaitDelay = time.Second
		return cmd
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--fork", "sh", "-c", "mkdir -p $0 && mount -t tmpfs tmpfs $0", filepath.Join(root, "proc")).CombinedOutput(); err != nil {
		t.Skipf("a file system of one's own takes root on Linux: %v %s", err, out)
	}
	said, err := inside(t.Context(), programPath, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "callgate") {
		t.Fatalf("version: got %v and %s", err, said)
	}
	var log bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	serving := inside(ctx, append(slices.Clone(config(t, img).Entrypoint), config(t, img).Cmd...)...)
	serving.Stdout, serving.Stderr = &log, &log
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serving.Wait() }()
	defer func() { stop(); <-ended }()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		check := inside(t.Context(), slices.Concat(config(t, img).Healthcheck.Test[1:], []string{"--url", "http://127.0.0.1:18976"})...)
		out, err := check.CombinedOutput()
		if err == nil {
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the gateway ended: %v\n%s", err, &log)
		default:
		}
		if time.Now().After(end) {
			stop()
			<-ended
			ended <- nil
			t.Fatalf("the gateway is not ready: %s\n%s", out, &log)
		}
	}
}

func config(t *testing.T, img v1.Image) v1.Config {
	t.Helper()
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return file.Config
}
