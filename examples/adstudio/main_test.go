package main

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// TestWrong holds that what is wrong is said before anything is started.
func TestWrong(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"a command":  {[]string{"upp"}, "up, app, tools and tokens"},
		"no model":   {[]string{"up", "-model", "gpt-5-mini"}, "provider/model"},
		"a provider": {[]string{"up", "-model", "acme/x"}, "openai, anthropic"},
		"no key":     {[]string{"up", "-model", "openai/gpt-5-mini"}, "OPENAI_API_KEY"},
		"no gateway": {[]string{"up", "-callgate", "./nothing"}, "make build"},
		"no prices":  {[]string{"app", "-prices", "nothing.json"}, "nothing.json"},
	} {
		args := slices.Concat(tt.args, []string{"-data", t.TempDir()})
		if err := run(context.Background(), args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, tt.want)
		}
	}
}

// TestOffered holds that the tools that are counted are those of the server.
func TestOffered(t *testing.T) {
	t.Parallel()
	list, err := offered(t.Context())
	if err != nil || len(list) != 5 {
		t.Errorf("got %d tools and %v, want 5", len(list), err)
	}
}
