package cli

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestRolloutsGuide does what docs/rollouts.md tells an operator, block for block: 10, 50 and 100 % of
// users, each by a reload of a file that is checked first, and then without the rollout. At each step
// 300 users ask; nobody who had the new model loses it.
func TestRolloutsGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/rollouts.md")
	if err != nil {
		t.Fatal(err)
	}
	guide, _, _ := strings.Cut(string(text), "## Who is in which arm")
	var blocks []string
	for _, m := range yamlBlock.FindAllStringSubmatch(guide, -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 4 {
		t.Fatalf("got %d blocks of YAML, want the file, two changes of its arms, and the end", len(blocks))
	}
	old, next := newSite(t, echo), newSite(t, echo)
	t.Setenv("LOCAL_BASE_URL", old.url)
	t.Setenv("NEXT_BASE_URL", next.url)
	head, _, _ := strings.Cut(blocks[0], "    arms:\n")
	g := serveChanging(t, blocks[0])
	inside := map[string]bool{}
	for step, file := range []string{blocks[0], head + blocks[1], head + blocks[2], blocks[3]} {
		said := &buffer{}
		if status := run(t.Context(), []string{"check", configFile(t, file)}, readerOf(""), said, said); status != 0 {
			t.Fatalf("got exit status %d, %s for a check of\n%s", status, said, file)
		}
		if step > 0 {
			if out, status := g.reload(file); status != http.StatusOK {
				t.Fatalf("got status %d, %+v for the reload", status, out)
			}
		}
		n := 0
		for i := range 300 {
			user := fmt.Sprintf("user-%d", i)
			r := g.chat(fmt.Sprintf(`{"model":"assistant","user":%q,"messages":[{"role":"user","content":"hello"}]}`, user))
			in := strings.Contains(r.body, "asked for qwen3-next")
			if said := r.header.Get("x-callgate-arm"); step < 3 && (said == "next-model/next") != in || step == 3 && said != "" {
				t.Fatalf("step %d: got arm %q and %s", step, said, r.body)
			}
			if inside[user] && !in {
				t.Errorf("step %d: %s has lost the new model", step, user)
			}
			if inside[user] = in; in {
				n++
			}
		}
		if want := []int{30, 150, 300, 300}[step]; n < want-20 || n > want+20 || want == 300 && n != 300 {
			t.Errorf("step %d: got %d of 300 users, want about %d", step, n, want)
		}
		t.Logf("step %d: %d of 300 users have the new model", step, n)
		if step == 2 {
			if r := g.adminDo("POST", "/admin/rollouts/next-model/stop"); r.status != http.StatusOK {
				t.Errorf("got status %d, %s for a stop", r.status, r.body)
			}
			if r := g.chat(`{"model":"assistant","messages":[{"role":"user","content":"hello"}]}`); !strings.Contains(r.body, "asked for qwen3-32b") {
				t.Errorf("got %s behind a stop, want the control", r.body)
			}
			g.adminDo("POST", "/admin/rollouts/next-model/resume")
		}
	}
}
