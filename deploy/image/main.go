// Command image makes the container image of the gateway, for all architectures, without Docker, a
// base image or a network: it holds the program, certificates and a user, and nothing else.
//
//	make image                                           # bin/image: an OCI layout, and an archive for docker load of each architecture
//	make image-push IMAGE=registry.example/callgate:1.0  # with the credentials of docker login
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	repository := flags.String("repository", "..", "`folder` of the repository, for LICENSE and the time of its last commit")
	from := flags.String("from", "../bin", "`folder` with linux-amd64/callgate and linux-arm64/callgate")
	to := flags.String("to", "../bin/image", "`folder` to write to")
	version := flags.String("version", "dev", "`version` of the image's labels and tag")
	push := flags.String("push", "", "`reference` to push to, instead of writing a folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	a, err := commit(ctx, *repository)
	if err != nil {
		return err
	}
	a.version = *version
	all, err := images(*from, filepath.Join(*repository, "LICENSE"), a)
	if err != nil {
		return err
	}
	if *push != "" {
		return pushed(ctx, *push, index(all), out)
	}
	return written(*to, "callgate:"+*version, all, out)
}

// commit is the last commit of a repository. Its time is the image's, so that a build can be
// repeated.
func commit(ctx context.Context, dir string) (about, error) {
	text, err := exec.CommandContext(ctx, "git", "-C", dir, "log", "-1", "--format=%H %cI").Output() //nolint:gosec // who runs it names the folder
	if err != nil {
		return about{revision: "unknown", created: time.Unix(0, 0)}, nil //nolint:nilerr // an archive of the sources has no history
	}
	revision, at, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	created, err := time.Parse(time.RFC3339, at)
	return about{revision: revision, created: created}, err
}

// pushed sends an index to a registry.
func pushed(ctx context.Context, to string, all v1.ImageIndex, out io.Writer) error {
	ref, err := name.ParseReference(to)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, all, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	digest, err := all.Digest()
	fmt.Fprintf(out, "%s@%s\n", ref.Context(), digest)
	return err
}

// written writes an OCI layout, and for each architecture an archive for docker load.
func written(dir, tag string, all map[string]v1.Image, out io.Writer) error {
	ref, err := name.NewTag(strings.ReplaceAll(tag, "+", "-"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	whole := index(all)
	if _, err := layout.Write(filepath.Join(dir, "oci"), whole); err != nil {
		return err
	}
	for _, arch := range architectures {
		file := filepath.Join(dir, "callgate-linux-"+arch+".tar")
		if err := tarball.WriteToFile(file, ref, all[arch]); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: docker load -i %[1]s gives %s\n", file, ref)
	}
	digest, err := whole.Digest()
	fmt.Fprintf(out, "%s: both, %s\n", filepath.Join(dir, "oci"), digest)
	return errors.Join(err)
}
