package guard

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestLexicons looks whether every language has what the guard needs to judge it.
func TestLexicons(t *testing.T) {
	t.Parallel()
	l := loadLexicons()
	if got := len(l.languages); got < 16 {
		t.Errorf("got %d languages, want at least 16", got)
	}
	needed := []string{"common", "ask", "object", "question", "refusal", "negation", "hypothetical", "failure", "closing",
		"content", "composing", "forbid", "assent", "inquiry", "waiting", "finished", "fresh", "doing", "harmless"}
	for i, language := range l.languages {
		var has role
		var claimed actions
		for _, list := range l.lists {
			if m := find(list, i); m != nil {
				has |= m.roles
				if m.is(done | participle) {
					claimed |= m.actions
				}
			}
		}
		for _, name := range needed {
			if has&roleNames[name] == 0 {
				t.Errorf("%s has no word that is %s", language.code, name)
			}
		}
		if missing := (changes | finds) &^ claimed; missing != 0 {
			t.Errorf("%s has no words that claim the actions %b", language.code, missing)
		}
	}
}

// TestLexiconManual: the folder's README names every role and thing.
func TestLexiconManual(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("lexicon/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range roleNames {
		if !strings.Contains(string(text), "| `"+name+"`") && !strings.Contains(string(text), "| `"+name+" ") {
			t.Errorf("README.md does not explain the role %s", name)
		}
	}
	for _, name := range thingNames {
		if !strings.Contains(string(text), name) {
			t.Errorf("README.md does not name the thing %s", name)
		}
	}
}

func TestLexiconErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"common: a, b":          "",
		"# a\n\ncommon: a":      "",
		"common":                "line 1: no colon",
		"common: a\nnoun: b":    `line 2: unknown role "noun"`,
		"participle fly: flown": `line 1: unknown action "fly"`,
		"object moon: moon":     `line 1: unknown thing "moon"`,
	} {
		_, err := readLexicons(fstest.MapFS{"lexicon/xx.txt": {Data: []byte(text)}})
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%q: got the error %v, want %q", text, err, want)
		}
	}
	_, err := readLexicons(fstest.MapFS{"lexicon/tools.txt": {Data: []byte("fly: fly")}})
	if err == nil {
		t.Error("got no error for an unknown action of tools, want one")
	}
}

func TestAlternatives(t *testing.T) {
	t.Parallel()
	for item, want := range map[string]string{
		"delete":           "delete",
		"delet(ed|ing)":    "deleted deleting",
		"(a|b) (c|d)":      "a c|a d|b c|b d",
		"zmieni(ony|ona|)": "zmieniony zmieniona zmieni",
		"an (open bracket": "an (open bracket",
	} {
		sep := " "
		if strings.Contains(want, "|") || item == want {
			sep = "|"
		}
		if got := strings.Join(alternatives(item), sep); got != want {
			t.Errorf("%s: got %q, want %q", item, got, want)
		}
	}
}

func TestNameWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"delete_task":              "delete task",
		"deleteTask":               "delete task",
		"mcp__mail__send-message":  "mcp mail send message",
		"getHTTPStatus":            "get http status",
		"hotel.modify_reservation": "hotel modify reservation",
		"S3Upload2":                "s upload",
		"":                         "",
		"删除任务":                     "删除任务",
	} {
		if got := strings.Join(nameWords(name), " "); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
