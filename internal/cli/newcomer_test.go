package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins/builtin"
)

// TestOwnAddress holds that a gateway whose upstream is the gateway itself does not start, and says which
// flag, key or variable leads back: OPENAI_BASE_URL is set for an app in the same shell.
func TestOwnAddress(t *testing.T) {
	listen := "127.0.0.1:59"
	file := filepath.Join(t.TempDir(), "callgate.yaml")
	if err := os.WriteFile(file, []byte("listen: "+listen+"\nproviders: {up: {type: openai, base_url: \"http://localhost:59/v1\"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		env, args []string
		want      string
	}{
		"flag":     {args: []string{"--listen", listen, "--upstream", "http://127.0.0.1:59/v1"}, want: `callgate: --upstream: "http://127.0.0.1:59/v1" is where this gateway itself listens`},
		"file":     {args: []string{"-c", file}, want: `callgate.yaml:2:42: providers.up.base_url: "http://localhost:59/v1" is where this gateway itself listens`},
		"variable": {env: []string{"OPENAI_API_KEY", "none", "OPENAI_BASE_URL", "http://127.0.0.1:59/v1"}, args: []string{"--listen", listen}, want: `OPENAI_BASE_URL`},
		"anthropic": {env: []string{"ANTHROPIC_API_KEY", "none", "ANTHROPIC_BASE_URL", "http://127.0.0.1:59"}, args: []string{"--listen", listen},
			want: `"http://127.0.0.1:59", where this gateway itself listens: its requests would come back; that address is for your app, so unset the variable for the gateway`},
	} {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(row.env); i += 2 {
				t.Setenv(row.env[i], row.env[i+1])
			}
			status, _, stderr := command(t, "", append([]string{"serve", "--admin", "off"}, row.args...)...)
			if status != exitUsage || !strings.Contains(stderr, row.want) {
				t.Errorf("got status %d and %q, want %d and %s", status, stderr, exitUsage, row.want)
			}
		})
	}
}

// TestDoctorOwnAddress holds that doctor says so too.
func TestDoctorOwnAddress(t *testing.T) {
	t.Parallel()
	status, stdout, _ := command(t, "", "doctor", "-c", configFile(t, "listen: 127.0.0.1:59\nadmin: {listen: \"off\"}\nproviders: {up: {type: openai, base_url: \"http://127.0.0.1:59/v1\"}}\n"))
	if status != exitFailed || !strings.Contains(stdout, "is where this gateway itself listens") {
		t.Errorf("got status %d and %s, want the circle among what is wrong", status, stdout)
	}
}

// TestFileNotRead holds that a configuration in the folder of the start which nobody has named is not
// read, and that the log says so.
func TestFileNotRead(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("callgate.yaml", []byte("nonsense: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	g := serve(t, "", "--admin", "off")
	if log := g.stderr.String(); !strings.Contains(log, "callgate serve -c callgate.yaml") {
		t.Errorf("the log does not say that the file is not read:\n%s", log)
	}
}

// TestOnlyDemo holds that a client which asks a gateway of the demo alone for a vendor's model is told
// what the gateway lacks, and that one of a gateway with providers is not.
func TestOnlyDemo(t *testing.T) {
	t.Parallel()
	const hint = "start it with a vendor's key"
	for name, row := range map[string]struct {
		config, model string
		said          bool
	}{
		"no configuration": {"", "gpt-5-mini", true},
		"an empty file":    {"listen: 127.0.0.1:0\n", "gpt-5-mini", true},
		"a like name":      {"", "hermes", false},
		"the demo, chosen": {"providers: {demo: {type: demo}}\n", "gpt-5-mini", false},
		"another provider": {"providers: {up: {type: openai, base_url: \"http://127.0.0.1:1/v1\"}}\n", "gpt-5-mini", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, row.config)
			got := g.chat(prompt(row.model, "hi", false))
			if got.status != http.StatusNotFound || !strings.Contains(got.body, "model_not_found") || strings.Contains(got.body, hint) != row.said {
				t.Errorf("got status %d, %s, want 404, and the hint: %v", got.status, got.body, row.said)
			}
		})
	}
}

// TestFileMissing holds that a file which a configuration names and that is not there is named as it was
// written, with where it is looked for.
func TestFileMissing(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"prices: ./none.yaml\n":                               `prices: there is no file "./none.yaml", seen from where the gateway runs`,
		"parsers: {mine: {response_template: ./none.json}}\n": `parsers.mine.response_template: there is no file "./none.json", seen from where the gateway runs`,
		"providers: {demo: {type: demo}}\nmodels: {m: {targets: [{provider: demo, parser: of_my_plugin}]}}\n": `a plugin's file is looked for in "./plugins.d" (plugins.dir)`,
	} {
		if status, _, stderr := command(t, "", "check", configFile(t, config)); status != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: got status %d and %q, want %d and %s", config, status, stderr, exitUsage, want)
		}
	}
}

// TestNoCases holds that a test which was given a folder without cases does not pass.
func TestNoCases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wasm, err := builtin.Wasm(builtin.Template)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "mine.wasm")
	if err := os.WriteFile(file, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := command(t, "", "plugin", "test", file, "--cases", dir, "--fuzz", "0s")
	if want := fmt.Sprintf("callgate: --cases: there is no .case file in %q", dir); status != exitUsage || !strings.HasPrefix(stderr, want) {
		t.Errorf("got status %d and %q, want %d and %s", status, stderr, exitUsage, want)
	}
}

// TestPort holds that who writes --port is told what to write.
func TestPort(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--port", "8090"}, {"--port=8090"}} {
		if status, _, stderr := command(t, "", append([]string{"serve"}, args...)...); status != exitUsage || !strings.Contains(stderr, "write --listen 127.0.0.1:8090") {
			t.Errorf("%q: got status %d and %q, want the flag --listen", args, status, stderr)
		}
	}
}

// TestGreetingOfKeys holds that who may not ask without a key is not told to try it without one.
func TestGreetingOfKeys(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"keys":         "keys: [{name: a, hash: \"" + hashOf("cg-a") + "\"}]\n",
		"require_keys": "require_keys: true\nstore: {kind: sqlite, path: " + filepath.Join(t.TempDir(), "s.db") + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, "providers: {demo: {type: demo}}\n"+config)
			if got := g.chat(prompt("demo/hermes", "hi", false)); got.status != http.StatusUnauthorized {
				t.Errorf("got status %d without a key, want 401", got.status)
			}
			if said := g.stdout.String(); strings.Contains(said, "Try it") {
				t.Errorf("the greeting shows a request that is refused:\n%s", said)
			}
		})
	}
}

// TestReachedAt holds that the greeting names an address that can be asked, also where the gateway
// listens on all.
func TestReachedAt(t *testing.T) {
	t.Parallel()
	for listener, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", "10.0.0.7:8080": "10.0.0.7:8080", "[::1]:8080": "[::1]:8080",
		"[::]:8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080",
	} {
		addr, elsewhere := reachedAt(listener)
		if addr != want || (elsewhere != "") != (want != listener) {
			t.Errorf("%s: got %s%s, want %s", listener, addr, elsewhere, want)
		}
	}
}

// TestInspectedPin holds that plugin inspect prints a file's hash in the form that plugins.pins takes.
func TestInspectedPin(t *testing.T) {
	t.Parallel()
	wasm, err := builtin.Wasm(builtin.Template)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mine.wasm")
	if err := os.WriteFile(file, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, stderr := command(t, "", "plugin", "inspect", file)
	pin := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(stdout)
	if pin == "" {
		t.Fatalf("got no pin from inspect: %s%s", stdout, stderr)
	}
	config := fmt.Sprintf("plugins: {dir: %s, require: pin, pins: {mine.wasm: %q}}\n", filepath.Dir(file), pin)
	if status, _, stderr := command(t, "", "check", configFile(t, config)); status != 0 {
		t.Errorf("got status %d with the pin that was printed: %s", status, stderr)
	}
}
