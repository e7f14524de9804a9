package mcp_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/mcp"
)

// limitsText are the limits that the process has, and its descriptors beyond the standard ones.
func limitsText() string {
	var all []string
	for _, kind := range []int{syscall.RLIMIT_DATA, syscall.RLIMIT_CPU, syscall.RLIMIT_NOFILE} {
		var l syscall.Rlimit
		_ = syscall.Getrlimit(kind, &l)
		all = append(all, fmt.Sprint(l.Max))
	}
	return strings.Join(all, ",")
}

// TestProcessLimits holds that a server's process has the limits that are set, and none that is not; that
// one which goes beyond them is ended, which is told as what it is; and that the next call finds a new one.
func TestProcessLimits(t *testing.T) {
	t.Parallel()
	ask := func(t *testing.T, kind string, l mcp.Limits, arguments string) (string, *toolserver.Error, *mcp.Server) {
		t.Helper()
		s := process(t, kind, func(o *mcp.Options) { o.Limits = l })
		if _, err := s.List(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		r, e := call(within(t, time.Minute), s, "echo", arguments)
		if e != nil {
			return "", e, s
		}
		return r.Text, nil, s
	}
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	all := mcp.Limits{Memory: 512 << 20, CPU: 100 * time.Second, Files: 64}
	if got, e, _ := ask(t, "limits", all, `{}`); got != fmt.Sprintf("%d,100,64", 512<<20) {
		t.Errorf("got the limits %s, %v", got, e)
	}
	const none = ^uint64(0)
	if got, e, _ := ask(t, "limits", mcp.Limits{Files: 64}, `{}`); got != fmt.Sprintf("%d,%d,64", none, none) {
		t.Errorf("got the limits %s, %v, want that of files alone", got, e)
	}
	if got, e, _ := ask(t, "limits", mcp.Limits{}, `{}`); got != fmt.Sprintf("%d,%d,%d", none, none, own.Max) {
		t.Errorf("got the limits %s, %v, want none", got, e)
	}
	for kind, row := range map[string]struct {
		limits    mcp.Limits
		arguments string
	}{"eats": {mcp.Limits{Memory: 512 << 20}, `{"do":"eat"}`}, "computes": {mcp.Limits{CPU: time.Second}, `{"do":"compute"}`}} {
		got, e, s := ask(t, kind, row.limits, row.arguments)
		if e == nil || e.Kind != toolserver.Unavailable {
			t.Errorf("%s: got %q, %v, want a server that has ended", kind, got, e)
		}
		if r, e := call(within(t, time.Minute), s, "echo", `{"q":"next"}`); e != nil || r.Text != `{"q":"next"}` {
			t.Errorf("%s: the next call got %+v, %v", kind, r, e)
		}
	}
}

// TestProcessLimitsUnguarded holds that a process for which no limits can be set is not started without them.
func TestProcessLimitsUnguarded(t *testing.T) {
	t.Parallel()
	s := process(t, "limits", func(o *mcp.Options) { o.Guard, o.Limits = nil, mcp.Limits{Files: 64} })
	_, err := s.List(within(t, time.Minute))
	if e, ok := errors.AsType[*toolserver.Error](err); !ok || !strings.Contains(fmt.Sprint(e.Err), "max_memory") {
		t.Errorf("got %v", err)
	}
}
