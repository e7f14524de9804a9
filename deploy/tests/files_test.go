package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"sigs.k8s.io/yaml"

	"github.com/callgate/callgate/internal/install"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCompose holds that deploy/compose.yaml is one in the eyes of Docker's own library, that what
// it mounts is there, and that its gateways get what their configuration asks for.
func TestCompose(t *testing.T) {
	environment := map[string]string{}
	for line := range strings.Lines(read(t, "../compose/env.example")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			if value == "" {
				value = "something"
			}
			environment[name] = value
		}
	}
	load := func(env map[string]string) (*types.Project, error) {
		return loader.LoadWithContext(context.WithoutCancel(t.Context()), types.ConfigDetails{WorkingDir: "..", ConfigFiles: []types.ConfigFile{{Filename: "../compose.yaml"}}, Environment: env},
			func(o *loader.Options) { o.SetProjectName("callgate", true); o.Profiles = []string{"monitoring"} })
	}
	project, err := load(environment)
	if err != nil {
		t.Fatal(err)
	}
	names := project.ServiceNames()
	if slices.Sort(names); !slices.Equal(names, []string{"callgate-1", "callgate-2", "grafana", "postgres", "prometheus", "redis"}) {
		t.Errorf("got the services %q", names)
	}
	for _, s := range project.Services {
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s mounts %s, which is not there", s.Name, v.Source)
				}
			}
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s is open to everybody at %s", s.Name, p.Published)
			}
		}
		if !strings.HasPrefix(s.Name, "callgate-") {
			continue
		}
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || s.StopGracePeriod == nil {
			t.Errorf("%s may do too much, or is killed too soon", s.Name)
		}
		for name, value := range s.Environment {
			t.Setenv(name, *value)
		}
	}
	for _, name := range []string{"CALLGATE_KEY_HASH", "CALLGATE_ADMIN_KEY_HASH"} {
		t.Setenv(name, hashOf(name))
	}
	t.Setenv("CALLGATE_JOURNAL", t.TempDir())
	if out, err := check(t, "../compose/callgate.yaml"); err != nil {
		t.Errorf("callgate check: %v\n%s", err, out)
	}
	// A secret that is missing is said.
	delete(environment, "CALLGATE_CACHE_SALT")
	if _, err := load(environment); err == nil || !strings.Contains(err.Error(), "env.example") {
		t.Errorf("without a salt: got error %v", err)
	}
}

// TestScrapeConfig holds that Prometheus asks the gateways of deploy/compose.yaml, with the key that
// is mounted.
func TestScrapeConfig(t *testing.T) {
	t.Parallel()
	var file struct {
		Jobs []struct {
			Authorization struct {
				File string `json:"credentials_file"`
			} `json:"authorization"`
			Static []struct {
				Targets []string `json:"targets"`
			} `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "../compose/prometheus.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	compose := read(t, "../compose.yaml")
	for _, target := range file.Jobs[0].Static[0].Targets {
		host, port, _ := strings.Cut(target, ":")
		if !strings.Contains(compose, "  "+host+":\n") || !strings.Contains(read(t, "../compose/callgate.yaml"), `":`+port+`"`) {
			t.Errorf("nobody is at %s", target)
		}
	}
	if secret := filepath.Base(file.Jobs[0].Authorization.File); !strings.Contains(compose, "secrets: ["+secret+"]") {
		t.Errorf("the secret %s is not mounted", secret)
	}
}

// TestSystemd asks systemd itself whether the service is one, and how exposed it is: 10 is all, 2 is
// what it calls OK.
func TestSystemd(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed; to have it: apt-get install systemd")
	}
	program, err := filepath.Abs(path(t))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(read(t, "../systemd/callgate.service"), "\nExecStartPre=") {
		t.Error("what ExecStartPre runs is started again and again: RestartPreventExitStatus does not hold for it")
	}
	file := writeFile(t, "callgate.service", strings.ReplaceAll(read(t, "../systemd/callgate.service"), "/usr/bin/callgate", program))
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", file).CombinedOutput(); err != nil || strings.Contains(string(out), "callgate.service") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=20", file).CombinedOutput()
	if err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
	m := regexp.MustCompile(`exposure level for callgate.service: (\S+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("got no level:\n%s", out)
	}
	t.Logf("exposure level %s", m[1])
}

// actionlint is GitHub's workflows' linter, built once at the version that is pinned here. As a library
// it does not go with others' versions of YAML.
func actionlint(ctx context.Context) (program string, err error) {
	const pinned = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
	dir, err := install.Once(install.Root(), "actionlint", []string{pinned, runtime.Version()}, func(dir string) error {
		_, err := install.Command(ctx, dir, "env", "GOBIN="+dir, "GOFLAGS=", "go", "install", pinned)
		return err
	})
	if err != nil {
		return "", install.MissingError{What: fmt.Sprintf("actionlint is not installed (%v)", err), Remedy: "run the tests where Go's module proxy is in reach"}
	}
	return filepath.Join(dir, "actionlint"), nil
}

// TestWorkflows holds that the workflows are good, and leave all that is done to make.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) != 2 {
		t.Fatalf("got %q and %v", files, err)
	}
	linter, err := actionlint(t.Context())
	install.Need(t, err, "CALLGATE_REQUIRE_ACTIONLINT")
	if out, err := exec.CommandContext(t.Context(), linter, append([]string{"-shellcheck=", "-pyflakes="}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	makefile := read(t, "../../Makefile")
	for _, file := range files {
		runs := regexp.MustCompile(`(?m)^\s+- run: (.*)$`).FindAllStringSubmatch(read(t, file), -1)
		if len(runs) == 0 {
			t.Errorf("%s does nothing", file)
		}
		for _, m := range runs {
			targets, ok := strings.CutPrefix(m[1], "make ")
			if !ok {
				t.Errorf("%s runs %q, want make alone", file, m[1])
			}
			for target := range strings.FieldsSeq(targets) {
				if !strings.Contains(makefile, "\n"+target+":") {
					t.Errorf("%s: there is no target %s", file, target)
				}
			}
		}
	}
}

// TestRelease holds what a release's archives must have right; "make release-check" asks
// goreleaser.
func TestRelease(t *testing.T) {
	t.Parallel()
	var file struct {
		Version int `json:"version"`
		Before  struct {
			Hooks []string `json:"hooks"`
		} `json:"before"`
		Builds []struct {
			Main    string   `json:"main"`
			Env     []string `json:"env"`
			LDFlags []string `json:"ldflags"`
		} `json:"builds"`
		Archives []struct {
			Files []string `json:"files"`
		} `json:"archives"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../.goreleaser.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	if file.Version != 2 || !slices.Contains(file.Before.Hooks, "make wasm") {
		t.Error("the archives would have no parsers")
	}
	for _, name := range append([]string{file.Builds[0].Main}, file.Archives[0].Files...) {
		if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
			t.Errorf("%s is not there", name)
		}
	}
	symbol := regexp.MustCompile(`-X (\S+)=`)
	ours, theirs := symbol.FindStringSubmatch(read(t, "../../Makefile")), symbol.FindStringSubmatch(fmt.Sprint(file.Builds[0].LDFlags))
	if ours == nil || theirs == nil || ours[1] != theirs[1] {
		t.Errorf("got the version in %v, want %v", theirs, ours)
	}
}
