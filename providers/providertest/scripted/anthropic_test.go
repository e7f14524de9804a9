package scripted_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate/providers/providertest/scripted"
)

// TestAnthropicRefusals has the requests that Anthropic refuses, and a part of its
// words.
func TestAnthropicRefusals(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/anthropic.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := bufio.NewScanner(bytes.NewReader(data)); line.Scan(); {
		var c struct {
			Name, Path, Want string
			Header           map[string]string
			Fields           json.RawMessage // beside model and max_tokens, or a whole body
			Body             string
			Status           int
		}
		if err := json.Unmarshal(line.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", line.Text(), err)
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if c.Path == "" {
				c.Path = "/v1/messages"
			}
			if c.Status == 0 {
				c.Status = 400
			}
			if c.Fields != nil {
				c.Body = `{"model":"m","max_tokens":2000,` + string(c.Fields[1:])
			}
			header := map[string]string{"X-Api-Key": scripted.Key, "Anthropic-Version": "2023-06-01"}
			for name, value := range c.Header {
				header[name] = value
			}
			s := scripted.Anthropic(t)
			status, body := post(t, s.URL+c.Path, header, c.Body)
			var e struct {
				Type  string
				Error struct{ Type, Message string }
			}
			if c.Status != 200 && (json.Unmarshal([]byte(body), &e) != nil || e.Type != "error" || e.Error.Type == "") {
				t.Errorf("got %s, want an error of Anthropic's form", body)
			}
			if status != c.Status || !strings.Contains(body, c.Want) {
				t.Errorf("got %d %s, want %d with %q", status, body, c.Status, c.Want)
			}
		})
	}
}
