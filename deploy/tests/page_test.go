package tests

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"
)

// linesOf are the commands of docs/deploy.md that begin with a word, as they stand there.
func linesOf(t *testing.T, program string) []string {
	t.Helper()
	lines := regexp.MustCompile(`(?m)^`+program+` .*$`).FindAllString(read(t, "../../docs/deploy.md"), -1)
	if len(lines) == 0 {
		t.Fatalf("docs/deploy.md has no command of %s", program)
	}
	return lines
}

// flags are the values of a command's flags, and its other words. A flag that is not among those that take a
// value, or those that do not, fails.
func flags(t *testing.T, line string, valued, alone []string) (values map[string][]string, words []string) {
	t.Helper()
	values = map[string][]string{}
	command, _, _ := strings.Cut(line, " #")
	fields := strings.Fields(command)
	for i := 0; i < len(fields); i++ {
		switch f := fields[i]; {
		case slices.Contains(valued, f) && i+1 < len(fields):
			i++
			values[f] = append(values[f], fields[i])
		case slices.Contains(alone, f):
			values[f] = nil
		case strings.HasPrefix(f, "-"):
			t.Errorf("this test does not know %s: %s", f, line)
		default:
			words = append(words, f)
		}
	}
	return values, words
}

// TestDeployPage does what docs/deploy.md says of Kubernetes, Compose and Docker, as far as that goes without a
// cluster and an engine: it makes the secret, renders the chart with the line's own flags, reads the compose file
// with the environment and the profiles that the lines have, and has docker read its flags. The other commands of
// the page are run by TestPagesPlayed of internal/cli.
func TestDeployPage(t *testing.T) {
	t.Parallel()
	t.Run("helm", func(t *testing.T) {
		t.Parallel()
		tested := false
		for _, line := range linesOf(t, "helm") {
			given, words := flags(t, line, []string{"--set", "-f"}, nil)
			switch {
			case words[1] == "test" && words[2] == "llm":
				tested = true
				continue
			case len(words) != 4 || words[1] != "install" || words[2] != "llm" || filepath.Join("../..", words[3]) != filepath.Join("../../deploy", strings.TrimPrefix(chartDir, "../")):
				t.Fatalf("this test does not know %s", line)
			}
			values := object{}
			for _, file := range given["-f"] {
				if file != "values.yaml" { // the reader's own
					t.Errorf("this test does not know %s", file)
				}
				values = valuesFile(t, "least-values.yaml")
			}
			for _, set := range given["--set"] {
				if err := strvals.ParseInto(set, values); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			objects, _, err := render(t, "1.30", values)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			container := at(find(objects, "Deployment", "llm-callgate"), "spec", "template", "spec", "containers", 0)
			if at(container, "envFrom", 0, "secretRef", "name") != "callgate" {
				t.Errorf("%s: got %v, want the variables of the secret", line, at(container, "envFrom"))
			}
			hooks := slices.ContainsFunc(objects, func(o object) bool { return at(o, "metadata", "annotations", "helm.sh/hook") == "test" })
			if !hooks {
				t.Error("the chart has nothing for helm test")
			}
		}
		if !tested {
			t.Error("docs/deploy.md does not say helm test")
		}
	})
	t.Run("kubectl", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("kubectl"); err != nil {
			t.Skip("kubectl is not installed: its lines of docs/deploy.md are not run")
		}
		for _, line := range linesOf(t, "kubectl") {
			out, err := exec.CommandContext(t.Context(), "sh", "-ec", line+" --dry-run=client -o yaml").CombinedOutput()
			var secret object
			if err == nil {
				err = yaml.Unmarshal(out, &secret)
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			data, _ := secret["data"].(map[string]any)
			if names := slices.Sorted(maps.Keys(data)); at(secret, "metadata", "name") != "callgate" || !slices.Equal(names, []string{"CALLGATE_KEY_HASH", "OPENAI_API_KEY"}) {
				t.Errorf("%s: got %v", line, secret)
			}
		}
	})
	t.Run("compose", func(t *testing.T) {
		t.Parallel()
		started := 0
		for _, line := range linesOf(t, "docker compose") {
			given, words := flags(t, line, []string{"-f", "--profile"}, []string{"--build"})
			if started++; !slices.Equal(words, []string{"docker", "compose", "up"}) || len(given["-f"]) != 1 {
				t.Errorf("this test does not know %s", line)
				continue
			}
			file := filepath.Join("../..", given["-f"][0])
			env, err := dotenv.Read(filepath.Join(filepath.Dir(file), "compose", "env.example")) // which the page has copied to .env beside the file
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range env {
				if value == "" { // it says to fill it in
					env[name] = "something"
				}
			}
			project, err := loader.LoadWithContext(context.WithoutCancel(t.Context()), types.ConfigDetails{WorkingDir: filepath.Dir(file), ConfigFiles: []types.ConfigFile{{Filename: file}}, Environment: env},
				func(o *loader.Options) { o.SetProjectName("callgate", true); o.Profiles = given["--profile"] })
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			monitors := slices.Contains(given["--profile"], "monitoring")
			if names := project.ServiceNames(); slices.Contains(names, "grafana") != monitors || !slices.Contains(names, "callgate-2") {
				t.Errorf("%s starts %q", line, names)
			}
		}
		if copied := "cp deploy/compose/env.example deploy/.env "; started != 2 || !strings.Contains(read(t, "../../docs/deploy.md"), "\n"+copied) {
			t.Errorf("got %d lines of docker compose, want two behind %q", started, copied)
		}
	})
	t.Run("docker", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("docker"); err != nil {
			t.Skip("docker is not installed: whether it takes the flags of docs/deploy.md is not tried")
		}
		for _, line := range slices.Concat(linesOf(t, "docker build"), linesOf(t, "docker run")) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Dir = "../.."
			cmd.Env = append(os.Environ(), "DOCKER_HOST=tcp://127.0.0.1:1", "DOCKER_BUILDKIT=0", "DOCKER_CONFIG="+t.TempDir(), "DOCKER_CONTEXT=") // no engine is there, and the flags are read before
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(strings.ToLower(string(out)), "connect to the docker daemon") && !strings.Contains(string(out), "env file") && !strings.Contains(string(out), "open env:") {
				t.Errorf("%s: got %v and\n%s\nwant only that there is no engine", line, err, out)
			}
		}
	})
}
