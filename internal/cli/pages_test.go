package cli

import (
	"os"
	"path/filepath"
	"regexp"
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
	for name, value := range pageVariables {
		t.Setenv(name, value)
	}
	for name, value := range map[string]string{"REDIS_URL": "redis://127.0.0.1:6379", "LOCAL_BASE_URL": "http://127.0.0.1:8000/v1", "NEXT_BASE_URL": "http://127.0.0.1:8001/v1"} {
		t.Setenv(name, value)
	}
	checked := 0
	for page, text := range readPages(t) {
		first := ""
		for i, part := range strings.Split(text, "```yaml\n") {
			block, _, _ := strings.Cut(part, "```\n")
			if i == 1 {
				first = block
			}
			if i > 1 && strings.HasPrefix(block, "    ") { // a part of the first, in its place or behind it
				key, _, _ := strings.Cut(block, ":")
				before, _, _ := strings.Cut(first, "\n"+key+":")
				block = strings.TrimSuffix(before, "\n") + "\n" + block
			}
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
			if _, err := os.Stat("callgate.db"); err == nil {
				t.Errorf("%s: callgate check has made the store of\n%s", page, block)
			}
		}
	}
	if checked < 9 {
		t.Errorf("got %d blocks that were checked, want 9 or more", checked)
	}
}

// readPages reads the README and the pages of docs, by their names.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, name := range append(names, "../../README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(name)] = string(text)
	}
	return pages
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pageCommand is a command of this program in a page, up to what the shell does with it.
var pageCommand = regexp.MustCompile("(?m)(?:^\\$ |^|`|\\| )(?:bin/)?callgate ([a-z][^\n`#|<>]*)")

// TestPagesCommands holds that the commands in the documents are there, and have the flags that
// they are shown with.
func TestPagesCommands(t *testing.T) {
	t.Parallel()
	groups := map[string]string{"plugin": "list", "tools": "list", "conformance": "run", "prices": "import", "team": "list", "key": "create"} // and a command of each
	helps := map[string]string{}
	found := 0
	for page, text := range readPages(t) {
		for _, m := range pageCommand.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(m[1])
			args := words[:1]
			if second := groups[words[0]]; second != "" {
				if len(words) > 1 && (words[0] != "key" || strings.HasPrefix(m[1], "key "+words[1])) && regexp.MustCompile(`^[a-z]+$`).MatchString(words[1]) {
					second = words[1]
				}
				args = []string{words[0], second}
			}
			name := strings.Join(args, " ")
			if _, ok := helps[name]; !ok {
				status, stdout, stderr := command(t, "", append(args, "--help")...)
				if status != exitOK {
					t.Errorf("%s: there is no callgate %s: %s", page, name, stderr)
				}
				helps[name] = stdout
			}
			found++
			for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(m[1], -1) {
				if all := helps[name]; !strings.Contains(all, flag+"=") && !strings.Contains(all, flag+"\n") && !strings.Contains(all, flag+" ") && !strings.Contains(all, flag+",") {
					t.Errorf("%s: callgate %s has no flag %s", page, name, flag)
				}
			}
		}
	}
	if found < 40 || len(helps) < 15 {
		t.Errorf("got %d commands of %d kinds, want more: are they found?", found, len(helps))
	}
}

// TestPagesFirstCall holds that the first call that is shown is that of the greeting, which
// another test makes.
func TestPagesFirstCall(t *testing.T) {
	t.Parallel()
	pages := readPages(t)
	for _, page := range []string{"README.md", "quickstart.md"} {
		if !strings.Contains(pages[page], " -d '"+tryBody+"'") {
			t.Errorf("%s shows another request than the greeting:\n%s", page, tryBody)
		}
	}
}
