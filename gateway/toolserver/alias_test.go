package toolserver_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/toolserver"
)

func TestAlias(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, test := range []struct{ name, server, tool, want string }{
		{"plain", "github", "search_code", "github__search_code"},
		{"dots", "github", "repo.search", "github__repo_search"},
		{"other characters", "git hub", "wetter/ö", "git_hub__wetter___"},
		{"exactly 64", "s", strings.Repeat("x", 61), "s__" + strings.Repeat("x", 61)},
		{"65", "s", strings.Repeat("x", 62), "s__" + strings.Repeat("x", 52) + "_382c910f"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := toolserver.Alias(test.server, test.tool); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	a, b := toolserver.Alias("server", long+"_first"), toolserver.Alias("server", long+"_second")
	if a == b || len(a) != toolserver.MaxAlias || len(b) != toolserver.MaxAlias {
		t.Errorf("two long names: %q and %q", a, b)
	}
}
