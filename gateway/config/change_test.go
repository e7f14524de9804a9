package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("callgate.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestChanges holds that every sort of difference is named by its key, in the file's order, and
// that no value is told.
func TestChanges(t *testing.T) {
	t.Parallel()
	const hash = "sha256:%064d"
	key := func(name string, n int) string { return fmt.Sprintf("{name: %s, hash: \""+hash+"\"}", name, n) }
	before := parsed(t, `
listen: 127.0.0.1:1
keys: [`+key("ann", 1)+", "+key("bob", 2)+", "+key("cyd", 3)+`]
providers:
  stays: {type: openai, base_url: http://127.0.0.1:2/v1, api_key: secret-a}
  moves: {type: openai, base_url: http://127.0.0.1:3/v1, api_key: secret-b, retry: {max_retries: 1}}
  goes: {type: demo}
models: {m: {targets: [{provider: stays}]}}
log: {level: info}
`)
	after := parsed(t, `
listen: 127.0.0.1:9
keys: [`+key("bob", 2)+", "+key("cyd", 4)+", "+key("dan", 5)+`]
redis: {url: "redis://:secret-c@127.0.0.1:6379"}
cache_salt: secret-d
providers:
  stays: {type: openai, base_url: http://127.0.0.1:2/v1, api_key: secret-a}
  moves: {type: openai, base_url: http://127.0.0.1:3/v1, api_key: secret-e, retry: {max_retries: 2}}
  comes: {type: demo}
models: {m: {targets: [{provider: stays}, {provider: moves}]}, "a.b": {alias: m}}
log: {level: debug}
`)
	var got []string
	for _, c := range before.Changes(after) {
		text := c.String()
		if c.Restart {
			text += " restart"
		}
		got = append(got, text)
	}
	want := []string{
		"listen restart", "cache_salt restart", "redis.url restart",
		"keys.ann (removed)", "keys.cyd.hash", "keys.dan (added)",
		"providers.comes (added)", "providers.goes (removed)", "providers.moves.api_key", "providers.moves.retry.max_retries",
		`models["a.b"] (added)`, "models.m.targets", "log.level",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the changes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if same := before.Changes(before); len(same) > 0 {
		t.Errorf("got %v between a configuration and itself, want nothing", same)
	}

	after.Hold(before)
	if err := after.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range before.Changes(after) {
		if c.Restart {
			t.Errorf("got %s after Hold, want the value of the start", c)
		}
	}
	if after.Listen != before.Listen || !after.Redis.URL.IsZero() || after.Log.Level != "debug" {
		t.Errorf("got listen %s, a Redis: %t, level %s, want the start's but for the level", after.Listen, !after.Redis.URL.IsZero(), after.Log.Level)
	}
}

// TestChangesOrder holds that the order of entries counts where they have names, too.
func TestChangesOrder(t *testing.T) {
	t.Parallel()
	list := func(names ...string) *config.Config {
		text := "providers: {demo: {type: demo}}\nkeys:\n"
		for _, n := range names {
			text += fmt.Sprintf("- {name: k%s, hash: \"sha256:%s\"}\n", n, strings.Repeat(n, 64))
		}
		return parsed(t, text)
	}
	if got := list("1", "2").Changes(list("2", "1")); len(got) != 1 || got[0].Path != "keys" {
		t.Errorf("got %v, want keys", got)
	}
}

// TestDigest holds that the digest is that of the file's bytes, as sha256sum says it.
func TestDigest(t *testing.T) {
	t.Parallel()
	if got, want := parsed(t, "{}").Digest(), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestBlank holds that a file which says nothing is told from one that says that there is nothing to say.
func TestBlank(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "\n \n": true, "# listen\n": true, "---\n": true, "{}": false, "listen: 127.0.0.1:80\n": false} {
		if got := parsed(t, text).Blank(); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if config.FromEnv(nil).Blank() {
		t.Error("the environment's configuration is blank; want that only files are")
	}
}
