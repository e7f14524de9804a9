package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pageProviders are the providers that pages name without showing them.
const pageProviders = `providers:
  local: {type: openai, base_url: "http://127.0.0.1:8000/v1"}
  local-vllm: {type: openai, base_url: "http://127.0.0.1:8000/v1"}
  openai: {type: openai, base_url: "https://api.openai.com/v1"}
  moonshot: {type: moonshot, api_key: key}
  qwen: {type: qwen, api_key: key}
`

// TestPagesYAML checks every block of YAML in the documents with callgate check. What a page
// leaves out is added: providers that it names, and a model where it shows none.
func TestPagesYAML(t *testing.T) {
	hash := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	for name, value := range map[string]string{
		"CALLGATE_KEY_HASH": hash, "CALLGATE_CACHE_SALT": "0123456789abcdef0123456789abcdef", "ANTHROPIC_API_KEY": "key",
		"REDIS_URL": "redis://127.0.0.1:6379", "GITHUB_TOKEN": "token", "FILES_TOKEN": "token",
	} {
		t.Setenv(name, value)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "```yaml\n") {
			block, _, _ := strings.Cut(part, "```\n")
			if i == 0 || strings.Contains(block, "…") { // keys and digests that nobody can show
				continue
			}
			checked++
			dir := t.TempDir()
			file := filepath.Join(dir, "callgate.yaml")
			whole := "\n" + block
			if !strings.Contains(whole, "\nproviders:") {
				whole += pageProviders
			}
			if !strings.Contains(whole, "\nmodels:") {
				whole += "models: {\"*\": {targets: [{provider: local}]}}\n"
			}
			template := filepath.Join(dir, "tokenizer_config.json")
			put(t, template, `{"response_template": {"version": 1, "fields": {"content": {}}}}`)
			put(t, file, strings.ReplaceAll(whole, "./tokenizer_config.json", template))
			if status, _, stderr := command(t, "", "check", file); status != exitOK {
				t.Errorf("%s: callgate check says %s of\n%s", page, stderr, block)
			}
		}
	}
	if checked < 9 {
		t.Errorf("got %d blocks that were checked, want 9 or more", checked)
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
