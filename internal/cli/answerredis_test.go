package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/redistest"
)

// TestAnswerRedis holds that gateways with the same salt and configuration have their
// answers in common, that those with another do not, and that no request fails or waits
// long as the Redis is away.
func TestAnswerRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := numbered(t)
	config := func(salt, defaults string) string {
		return strings.Replace(keeping(s.url, fmt.Sprintf("redis: {url: %q, key_prefix: %q}\ncache_salt: %s\nlog: {level: error}\n%s", server.URL(), server.KeyPrefix(), salt, defaults), ""),
			"answer_cache: memory", "answer_cache: redis", 1)
	}
	a, b := serve(t, config("pepper", "")), serve(t, config("pepper", "listen: 127.0.0.1:8089"))
	others := []*gate{serve(t, config("salt", "")), serve(t, config("pepper", "defaults: {guard: off}"))}

	var first result
	await(t, "an answer in the Redis", func() bool { // on a busy machine a call may take too long
		first = a.chat(repeatable("hi", true))
		return first.header.Get("x-callgate-cache") == "hit"
	})
	var second result
	await(t, "the other gateway's answer", func() bool {
		second = b.chat(repeatable("hi", true))
		return second.header.Get("x-callgate-cache") == "hit"
	})
	equalBytes(t, "streams", bare(second), bare(first))
	for _, g := range others {
		g.cached(g.chat(repeatable("hi", true)), "miss")
	}

	for name, outage := range map[string]struct{ begin, end func() }{"stopped": {server.Stop, server.Restart}, "paused": {server.Pause, server.Resume}} {
		outage.begin()
		for n := range 50 {
			if r := a.chat(repeatable(fmt.Sprint(name, n), false)); r.status != http.StatusOK || r.header.Get("x-callgate-cache") != "miss" {
				t.Errorf("%s: got status %d, %q", name, r.status, r.header.Get("x-callgate-cache"))
			}
		}
		if metrics := a.adminDo("GET", "/metrics").body; !strings.Contains(metrics, "callgate_answer_cache_redis_up 0\n") {
			t.Errorf("%s: got no metric that says so", name)
		}
		outage.end()
		await(t, "answers from the Redis again", func() bool {
			time.Sleep(50 * time.Millisecond)
			return a.chat(repeatable("hi", true)).header.Get("x-callgate-cache") == "hit"
		})
	}
}

// TestAnswerRedisCheck holds that a Redis that nobody has named is a mistake of the
// configuration.
func TestAnswerRedisCheck(t *testing.T) {
	t.Parallel()
	config := strings.Replace(keeping("http://127.0.0.1:1/v1", "", ""), "answer_cache: memory", "answer_cache: redis", 1)
	for add, want := range map[string]string{
		"": "models.m.answer_cache: there is no Redis",
		"redis: {url: \"redis://127.0.0.1:1\"}\n":                     "redis without cache_salt",
		"redis: {url: \"redis://127.0.0.1:1\"}\ncache_salt: pepper\n": "",
	} {
		var out, errs buffer
		status := run(t.Context(), []string{"check", configFile(t, add+config)}, readerOf(""), &out, &errs)
		if !strings.Contains(errs.String(), want) || (status == exitOK) != (want == "") {
			t.Errorf("%q: got status %d and %q, want %q", add, status, errs.String(), want)
		}
	}
}
