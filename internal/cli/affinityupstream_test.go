package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// warmSite is an upstream with a cache of the prompts that it has answered, which it
// counts as OpenAI does: a token is 4 bytes of the messages.
type warmSite struct {
	mu      sync.Mutex
	prompts []string // the messages as they came
	dead    bool     // connections are closed, those of streams behind their first chunk
	cached  int      // tokens, of all answers
	cold    bool     // it has no cache; set before the first request
}

func (s *warmSite) serve(w http.ResponseWriter, r received) {
	usage, dead := s.read(r)
	if dead && r.wantsStream() {
		w.Header().Set("content-type", events)
		send(w, role)
	}
	if dead {
		panic(http.ErrAbortHandler)
	}
	if !r.wantsStream() {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, strings.TrimSuffix(completion(healthyText), "}")+`,"usage":`+usage+"}")
		return
	}
	w.Header().Set("content-type", events)
	send(w, role+strings.TrimSuffix(stream(healthyText), done),
		`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[],"usage":`+usage+"}\n\n"+done)
}

// read puts a prompt into the cache and returns the usage that tells how much of it was
// there.
func (s *warmSite) read(r received) (usage string, dead bool) {
	var body struct{ Messages json.RawMessage }
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		panic(err) // the tests' requests are JSON
	}
	prompt := strings.TrimSuffix(string(body.Messages), "]")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return "", true
	}
	longest := 0
	for _, p := range s.prompts {
		longest = max(longest, common(p, prompt))
	}
	s.prompts = append(s.prompts, prompt)
	cached := longest / 512 * 512 / 4 // 128 tokens at a time
	if s.cold {
		cached = 0
	}
	s.cached += cached
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":4,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		len(prompt)/4, len(prompt)/4+4, cached), false
}

// common is the length of the beginning that two texts share.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// fails lets the upstream close every connection, or come back with an empty cache.
func (s *warmSite) fails(dead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead, s.prompts = dead, nil
}
