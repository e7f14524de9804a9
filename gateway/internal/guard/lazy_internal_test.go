package guard

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is left out for speed may change no verdict: these tests hold each shortcut against the long way, on all texts
// of testdata and on mixtures of them.

// allTexts are the texts of the cases, and mixtures of their pieces.
func allTexts(t *testing.T) (texts []string) {
	t.Helper()
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, ".json") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for read := json.NewDecoder(bytes.NewReader(text)); read.More(); {
			var v any
			if err := read.Decode(&v); err != nil {
				return err
			}
			texts = appendTexts(texts, v)
		}
		return nil
	})
	if err != nil || len(texts) < 3000 {
		t.Fatalf("got %d texts, %v", len(texts), err)
	}
	random := rand.New(rand.NewPCG(3, 5))
	piece := func() string {
		s := texts[random.IntN(len(texts))]
		from := random.IntN(len(s) + 1)
		return s[from:min(len(s), from+random.IntN(200))]
	}
	for range 4000 {
		signs := []string{"", " ", "\n", ". ", "? ", "\n```\n", "\"", "(", "<", "{", "…", "\x00", "7"}
		texts = append(texts, piece()+signs[random.IntN(len(signs))]+piece()+signs[random.IntN(len(signs))]+piece())
	}
	return texts
}

// appendTexts adds the strings of a JSON value that somebody says.
func appendTexts(texts []string, v any) []string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			texts = appendTexts(texts, item)
		}
	case map[string]any:
		for key, item := range v {
			if s, ok := item.(string); ok && slices.Contains([]string{"content", "text", "answer", "user"}, key) {
				texts = append(texts, s)
			} else {
				texts = appendTexts(texts, item)
			}
		}
	}
	return texts
}

// TestShortcuts: a sentence's roles are those of its marks, one without the roles of claims has none, digits and calls
// are found wherever they are, and no word of the tools is passed over.
func TestShortcuts(t *testing.T) {
	t.Parallel()
	l := loadLexicons()
	b := newToolbox(l, []string{"delete_task", "list_tasks", "bestelling_annuleren", "get_weather", "überweisung_prüfen"})
	for word := range b.local.words {
		if !b.local.mayBegin(word[0]) || !b.local.mayBe([]byte(word)) {
			t.Errorf("the word %q of a tool is passed over", word)
		}
	}
	for _, text := range allTexts(t) {
		r := l.readAnswer(text, b.local, "")
		var all role
		for i := range r.marks {
			all |= r.marks[i].roles
		}
		if all != r.roles {
			t.Errorf("%q: got the roles %b, want %b", text, r.roles, all)
		}
		for i := range r.sentences {
			s := &r.sentences[i]
			var roles role
			for _, m := range s.marks {
				roles |= m.roles
			}
			if roles != s.roles {
				t.Errorf("%q: sentence %d: got the roles %b, want %b", text, i, s.roles, roles)
			}
			if claims := (claimFinder{s, &echo{}}).find(nil, i); len(claims) > 0 && !s.has(claiming) {
				t.Errorf("%q: sentence %d claims %v without a word for it", text, i, claims)
			}
		}
		for i := 0; i <= len(r.text); i += 7 {
			want := slices.IndexFunc(r.text[i:], isDigit)
			if got := nextDigit(r.text, i); got != i+want && (want >= 0 || got != len(r.text)) {
				t.Errorf("%q: got a digit at %d from %d on, want it %d behind", r.text, got, i, want)
			}
		}
		for _, find := range []func(string) (string, int){b.calls.jsonCall, b.calls.taggedCall, b.calls.functionCall} {
			if name, _ := find(text); name != "" && !mayBeCall(text) {
				t.Errorf("%q: the call of %s is passed over", text, name)
			}
		}
		l.free(r)
	}
}
