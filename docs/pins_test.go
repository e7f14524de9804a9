package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestClientPins holds that the clients which users copy and the tests that play their SDKs have the same versions
// of those.
func TestClientPins(t *testing.T) {
	t.Parallel()
	copied, played := pins(t, "conformance/clients/go.mod"), pins(t, "internal/e2e/go.mod")
	for module, version := range copied {
		if have := played[module]; have != version {
			t.Errorf("%s: conformance/clients pins %s, internal/e2e %q: pin the same version in both", module, version, have)
		}
	}
	if len(copied) < 2 {
		t.Errorf("conformance/clients/go.mod: got the pins %v, want those of two SDKs or more", copied)
	}
}

var pinned = regexp.MustCompile(`(?m)^(?:require)?\s+([^\s/]+/\S+) (v\S+)$`)

// pins are the modules that a go.mod itself asks for, with their versions.
func pins(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, m := range pinned.FindAllStringSubmatch(string(text), -1) {
		of[m[1]] = m[2]
	}
	return of
}
