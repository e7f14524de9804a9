package toolresult_test

import (
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/toolresult"
)

func TestFailed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/results.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		verdict, result, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if verdict == "#" {
			continue
		}
		if got, want := toolresult.Failed([]byte(result), toolresult.Likely), verdict == "failed"; got != want {
			t.Errorf("%s: got failed %v, want %v", result, got, want)
		}
	}
	if toolresult.Failed([]byte(""), toolresult.Likely) {
		t.Error("got an empty result failed, want it fine")
	}
}

// FuzzFailed reads any result without a panic.
func FuzzFailed(f *testing.F) {
	text, err := os.ReadFile("testdata/results.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		_, result, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		f.Add(result)
	}
	f.Add(`{"status":{"status":{"status":{"status":{"status":"error"}}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		failed := toolresult.Failed([]byte(text), toolresult.Likely)
		if failed && strings.TrimSpace(text) == "" {
			t.Error("got an empty result failed, want it fine")
		}
	})
}
