package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

var update = flag.Bool("update", false, "write the expected files anew")

// canary stands in every secret of the test data, and must be in no output.
const canary = "sk-canary"

// environment reads the lines "# env: NAME=value" of a file, where \n stands for
// a newline.
func environment(data []byte) func(string) (string, bool) {
	env := map[string]string{
		"CALLGATE_KEY_HASH": config.HashKey("dev"),
		"VLLM_KEY":          canary,
	}
	for line := range strings.Lines(string(data)) {
		if setting, ok := strings.CutPrefix(line, "# env: "); ok {
			name, value, _ := strings.Cut(strings.TrimSuffix(setting, "\n"), "=")
			env[name] = strings.ReplaceAll(value, `\n`, "\n")
		}
	}
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// compare checks got against the file beside the test case.
func compare(t *testing.T, file, got string) {
	t.Helper()
	if strings.Contains(got, canary) {
		t.Errorf("the output holds a secret:\n%s", got)
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v, want some", len(files), err)
	}
	return files
}

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestGood(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data := read(t, file)
			c, err := config.Parse("callgate.yaml", data, environment(data))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, strings.TrimSuffix(file, ".yaml")+".txt", string(c.YAML()))
		})
	}
}

func TestBad(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data := read(t, file)
			_, err := config.Parse("callgate.yaml", data, environment(data))
			var problems *config.Error
			if !errors.As(err, &problems) || len(problems.Problems) == 0 {
				t.Fatalf("got error %v, want a *config.Error with problems", err)
			}
			compare(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}
