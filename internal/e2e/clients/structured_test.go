package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/internal/install"
)

// parsed is what a parse helper made of an answer.
type parsed struct {
	Helper, Model, Error string
	Parsed               json.RawMessage
}

// parser is a program with parse helpers.
type parser struct {
	name    string
	helpers []string
	run     func(t *testing.T, args []string) []byte
}

func parsers() []parser {
	python := func(installed func() (string, error)) func(t *testing.T, args []string) []byte {
		return func(t *testing.T, args []string) []byte {
			t.Helper()
			interpreter, err := installed()
			need(t, err)
			output, _ := program(t, "", nil, interpreter, slices.Concat([]string{"-I", "-X", "utf8", "testdata/structured.py"}, args)...)
			return output
		}
	}
	return []parser{
		{"python", []string{"chat", "chat_stream", "responses", "anthropic", "pydantic_ai"}, python(sync.OnceValues(installDefaults))},
		{"instructor", []string{"instructor"}, python(sync.OnceValues(installInstructor))},
		{"node", []string{"node_chat", "node_chat_stream", "node_responses", "ai_generate", "ai_stream", "ai_output"}, parseWithNode},
	}
}

func installInstructor() (interpreter string, err error) {
	interpreter, err = installVenv(context.Background(), "python-structured", "testdata/structured.txt")
	if err != nil {
		return "", install.MissingError{
			What:   fmt.Sprintf("instructor is not installed (%v)", err),
			Remedy: "cd internal/e2e && go test ./clients -run TestStructured/instructor, where PyPI is in reach",
		}
	}
	return interpreter, nil
}

// parseWithNode runs the program beside what it imports.
func parseWithNode(t *testing.T, args []string) []byte {
	t.Helper()
	sdks, err := installNode(t.Context())
	need(t, err)
	text, err := os.ReadFile("testdata/structured.mjs")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "structured.mjs"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(sdks.dir, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Skipf("the system makes no symbolic links, so Node does not find the SDKs: %v", err)
	}
	output, _ := program(t, dir, nil, sdks.program, slices.Concat([]string{"structured.mjs"}, args)...)
	return output
}

// TestStructured has the parse helpers of SDKs and frameworks ask the demo's models that are wrong about
// JSON, through the gateway, and where it does not look at answers: how often that goes wrong says
// what the check is worth.
func TestStructured(t *testing.T) {
	t.Parallel()
	c := newConfig()
	c.Providers["pass"] = map[string]any{"type": "demo"}
	c.Providers["reask"] = map[string]any{"type": "demo", "on_invalid_output": "reask"}
	c.Providers["prompted"] = map[string]any{"type": "demo", "response_format": "prompted"}
	c.Providers["off"] = map[string]any{"type": "demo", "structured_output": "off"}
	c.route("*", target{Provider: "pass"})
	g := serve(t, c)
	models := []string{"pass/native", "pass/json_fenced", "pass/json_prose", "pass/json_broken", "pass/json_string", "pass/json_types",
		"reask/json_missing", "reask/json_text", "reask/json_twice", "reask/json_open", "prompted/no_format"}
	for _, p := range parsers() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			args := []string{g.URL}
			for _, helper := range p.helpers {
				for _, model := range models {
					args = append(args, helper, model)
				}
				for _, model := range models[1:10] {
					args = append(args, helper, "off/"+strings.SplitN(model, "/", 2)[1])
				}
			}
			good, without, failed := 0, 0, 0
			output := p.run(t, args)
			for d := json.NewDecoder(bytes.NewReader(output)); d.More(); {
				var got parsed
				if err := d.Decode(&got); err != nil {
					t.Fatalf("%v in %s", err, output)
				}
				ok := got.Error == "" && strings.ReplaceAll(string(got.Parsed), " ", "") == `{"city":"Oslo","degrees":3}`
				switch off := strings.HasPrefix(got.Model, "off/"); {
				case off && ok:
					without++
				case off:
					failed++
				case ok:
					good++
				default:
					t.Errorf("%s of %s: got %s, %s", got.Helper, got.Model, got.Parsed, got.Error)
				}
			}
			t.Logf("%d answers parsed; of those that nobody looks at %d parsed and %d failed", good, without, failed)
			if good != len(p.helpers)*len(models) {
				t.Errorf("got %d answers, want %d", good, len(p.helpers)*len(models))
			}
			if failed == 0 {
				t.Error("nothing fails without the gateway's check: the answers are not wrong")
			}
		})
	}
}
