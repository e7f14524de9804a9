package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/mcp"
	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
)

// asServer makes this test binary a server over standard input and output, of the sort that it
// names.
const asServer = "CALLGATE_TEST_SERVER"

// asCalled names a file that a server makes once it has a call that it does not answer.
const asCalled = "CALLGATE_TEST_CALLED"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guard" {
		os.Exit(mcp.GuardMain(os.Args[2:]))
	}
	if kind := os.Getenv(asServer); kind != "" {
		serveAs(kind)
		os.Exit(0)
	}
	if os.Getenv(asGateway) != "" {
		beGateway()
	}
	status := m.Run()
	if built != "" {
		os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(status)
}

// serveAs answers as a server of the newest version does, until a call, when it does what its
// kind says.
func serveAs(kind string) {
	in := bufio.NewReader(os.Stdin)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	switch kind {
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "with a child":
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			panic(err)
		}
		_ = os.WriteFile(os.Getenv("PIDS"), []byte(fmt.Sprintf("%d %d", os.Getpid(), child.Process.Pid)), 0o600)
	case "mute":
		if file := os.Getenv("PIDS"); file != "" {
			f, _ := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			fmt.Fprintln(f, os.Getpid())
			f.Close()
		}
		fmt.Fprintln(os.Stderr, "no such database: \x1b[31mhello\x1b[0m")
		os.Exit(3)
	case "chatty":
		say("Welcome to the server!")
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if kind == "stubborn" {
				select {}
			}
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Arguments json.RawMessage                          `json:"arguments"`
				Meta      struct{ Traceparent, Tracestate string } `json:"_meta"`
			} `json:"params"`
		}
		_ = json.Unmarshal(line, &m)
		if kind == "meta" {
			m.Params.Arguments = fmt.Appendf(nil, "%s %s %s", m.ID, m.Params.Meta.Traceparent, m.Params.Meta.Tracestate)
		}
		switch m.Method {
		case "server/discover":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}`, m.ID)
		case "tools/list":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`, m.ID)
		case "tools/call":
			called(kind, m.ID, m.Params.Arguments, say)
		}
	}
}

func called(kind string, id, arguments json.RawMessage, say func(string, ...any)) {
	text := string(arguments)
	switch kind {
	case "dies":
		os.Exit(1)
	case "hangs", "stubborn":
		if strings.Contains(text, "hang") {
			if file := os.Getenv(asCalled); file != "" {
				_ = os.WriteFile(file, nil, 0o600)
			}
			return
		}
	case "floods":
		for {
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}`, strings.Repeat("x", 1<<20))
		}
	case "long line":
		_, _ = os.Stdout.WriteString(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"content":[{"type":"text","text":"`)
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	case "limits":
		text = limitsText()
	case "eats":
		if strings.Contains(text, "eat") {
			eaten := make([]byte, 1<<30)
			for i := 0; i < len(eaten); i += 4096 {
				eaten[i] = 1
			}
			text = fmt.Sprint(len(eaten))
		}
	case "computes":
		for strings.Contains(text, "compute") {
		}
	case "env":
		text = strings.Join(os.Environ(), "\n")
	case "arguments":
		text = strings.Join(os.Args[1:], "|")
	case "asks":
		say(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
	case "no JSON":
		say("Traceback (most recent call last):")
		return
	case "batch":
		say(`[]`)
		return
	}
	quoted, _ := json.Marshal(text)
	say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, quoted)
}

// process opens this binary as a server of a kind.
func process(t *testing.T, kind string, change func(*mcp.Options)) *mcp.Server {
	t.Helper()
	o := mcp.Options{Name: "srv", Command: []string{os.Args[0]}, Guard: []string{os.Args[0], "guard"}, Env: map[string]string{asServer: kind}, Start: 30 * time.Second}
	if change != nil {
		change(&o)
	}
	s := mcp.Open(o)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestHostileProcess has a row for what a process may do to a call. The next call finds a server
// again, a new one if it must be.
func TestHostileProcess(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]toolserver.Error{
		"dies":      {Kind: toolserver.Unavailable, Sent: true, Again: true},
		"hangs":     {Kind: toolserver.Timeout, Sent: true, Again: true},
		"floods":    {Kind: toolserver.TooLarge, Sent: true},
		"long line": {Kind: toolserver.TooLarge, Sent: true},
		"no JSON":   {Kind: toolserver.Unavailable, Sent: true, Again: true},
		"batch":     {Kind: toolserver.Unavailable, Sent: true, Again: true},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			called := filepath.Join(t.TempDir(), "called")
			s := process(t, kind, func(o *mcp.Options) { o.Env[asCalled] = called })
			if _, err := s.List(within(t, time.Minute)); err != nil {
				t.Fatal(err)
			}
			ctx := within(t, time.Minute)
			if want.Kind == toolserver.Timeout {
				ctx = untilThere(t, called)
			}
			_, e := call(ctx, s, "echo", `{"do":"hang"}`)
			if e == nil || e.Kind != want.Kind || e.Sent != want.Sent || e.Again != want.Again {
				t.Errorf("got %+v (%v), want %+v", e, unwrap(e), want)
			}
			if l, err := s.List(within(t, time.Minute)); err != nil || len(l.Tools) != 1 {
				t.Errorf("afterwards: got %+v, %v", l, err)
			}
		})
	}
}

// untilThere is a context whose time is over once a file is there.
func untilThere(t *testing.T, file string) context.Context {
	t.Helper()
	ctx, end := toolservertest.Overdue(t.Context())
	go func() {
		defer end()
		for range 1200 {
			if _, err := os.Stat(file); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return ctx
}

// TestProcessLate holds that a call whose time is over before it is made does not count as one that may have run.
func TestProcessLate(t *testing.T) {
	t.Parallel()
	s := process(t, "arguments", nil)
	if _, err := s.List(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if r, e := call(late, s, "echo", `{}`); e == nil || e.Kind != toolserver.Timeout || e.Sent || e.Hint != "" {
		t.Errorf("got %+v, %+v, want an error of a call that was not sent", r, e)
	}
}

// TestProcessAsks holds that a server which asks for a model gets an error and not a hang.
func TestProcessAsks(t *testing.T) {
	t.Parallel()
	if r, e := call(within(t, time.Minute), process(t, "asks", nil), "echo", `{"n":1}`); e != nil || r.Text != `{"n":1}` {
		t.Errorf("got %+v, %v", r, e)
	}
}

// TestProcessTraced holds that a process is told of the trace, with each call, and the trace of the
// call's id and the version.
func TestProcessTraced(t *testing.T) {
	t.Parallel()
	s := process(t, "meta", nil)
	for range 2 {
		hop := &toolserver.Hop{Parent: "00-a-b-01", State: "x=1"}
		r, e := call(hop.With(within(t, time.Minute)), s, "echo", `{}`)
		facts := hop.Facts()
		if e != nil || facts.Request == "" || r.Text != facts.Request+" 00-a-b-01 x=1" || facts.Version != "2026-07-28" {
			t.Errorf("got %+v, %v, and of the call %+v", r, e, facts)
		}
	}
	if r, e := call(within(t, time.Minute), s, "echo", `{}`); e != nil || strings.Contains(r.Text, "00-") {
		t.Errorf("got %+v, %v where nothing is traced", r, e)
	}
}

// TestEnvironment holds that a process sees none of the gateway's variables but the few that are
// named, and that nothing of its command is read by a shell.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-canary")
	t.Setenv("LD_PRELOAD_CANARY", "x")
	t.Setenv("LC_CTYPE", "canary") // which the operator wants empty
	r, e := call(within(t, time.Minute), process(t, "env", func(o *mcp.Options) { o.Env["TOKEN"], o.Env["LC_CTYPE"] = "given", "" }), "echo", "")
	if e != nil {
		t.Fatal(e)
	}
	allowed := append(mcp.Environment(), "TOKEN", asServer)
	for line := range strings.Lines(r.Text) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains(allowed, name) {
			t.Errorf("got the variable %s", strings.TrimSpace(line))
		}
	}
	if !strings.Contains(r.Text, "TOKEN=given") || strings.Contains(r.Text, "canary") {
		t.Errorf("got %s", r.Text)
	}
	odd := "$(touch /tmp/callgate-canary); `id` && rm -rf x | y > z"
	r, e = call(within(t, time.Minute), process(t, "arguments", func(o *mcp.Options) { o.Command = append(o.Command, odd, "*") }), "echo", "")
	if e != nil || r.Text != odd+"|*" {
		t.Errorf("got %+v, %v", r, e)
	}
}

// TestProcessMissing holds what is said of a program that does not start, or ends at once.
func TestProcessMissing(t *testing.T) {
	t.Parallel()
	_, err := mcp.Open(mcp.Options{Name: "srv", Command: []string{"/no/such/program"}}).List(within(t, time.Minute))
	var e *toolserver.Error
	if !errors.As(err, &e) || e.Kind != toolserver.Unavailable || strings.Contains(e.Message, "/no/such") {
		t.Errorf("got %+v", err)
	}
	_, err = process(t, "mute", nil).List(within(t, time.Minute))
	if !errors.As(err, &e) || !strings.Contains(fmt.Sprint(e.Err), "no such database") || strings.Contains(fmt.Sprint(e.Err), "\x1b") {
		t.Errorf("got %+v, want what the process has written in the error for the log, without control characters", e.Err)
	}
}

// TestProcessCause holds that operators read why a command is of no use, with a guard and without,
// and that models and clients do not.
func TestProcessCause(t *testing.T) {
	t.Parallel()
	shell := func(script string) []string { return []string{"/bin/sh", "-c", script} }
	for _, row := range []struct {
		name, want string
		command    []string
	}{
		{"missing", `exec: "no-such-program": executable file not found in $PATH`, []string{"no-such-program"}},
		{"no program", "permission denied", []string{"/dev/null"}},
		{"status", "the command ended with exit status 3; its last words: the second", shell("echo the first >&2; echo the second >&2; exit 3")},
		{"half a line", "the command ended with exit status 4; its last words: the end", shell("printf 'the end' >&2; exit 4")},
		{"silent", "the command ended with exit status 0", shell("exit 0")},
		{"no server", "method not found", []string{"cat"}},
		{"no end", "the command runs, and does not answer; its last words: here I am", shell("echo here I am >&2; sleep 1000")},
		{"log on standard output", "what is no message of MCP, and its log may go to standard error only: [info] I serve", shell("echo; echo '[info] I serve'; echo more; sleep 1000")},
		{"log, then an end", "standard error only: I serve; its last words: no database", shell("echo no database >&2; echo I serve; exit 5")},
		{"signal", "the command ended with signal: killed", shell("kill -9 $$")},
	} {
		for kind, guard := range map[string][]string{"alone": nil, "guarded": {os.Args[0], "guard"}} {
			t.Run(row.name+" "+kind, func(t *testing.T) {
				t.Parallel()
				if runtime.GOOS != "linux" && guard != nil {
					t.Skip("guards need Linux")
				}
				start := time.Minute
				if row.name == "no end" {
					start = 10 * time.Second // for the shell to say it on a busy machine
				}
				s := mcp.Open(mcp.Options{Name: "srv", Command: row.command, Guard: guard, Start: start})
				defer s.Close()
				_, err := s.List(within(t, time.Minute))
				var e *toolserver.Error
				if !errors.As(err, &e) || !strings.Contains(e.Cause, row.want) || strings.Contains(e.Message, row.want) {
					t.Errorf("got %v with the cause %q, want the cause %q", e, e.Cause, row.want)
				}
			})
		}
	}
}

// TestNoStorm holds that a process which does not start is not started for each call.
func TestNoStorm(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "starts")
	s := process(t, "mute", func(o *mcp.Options) { o.Env["PIDS"] = file })
	began := time.Now()
	calls := 0
	for ; calls < 200; calls++ {
		if _, e := call(within(t, time.Minute), s, "echo", `{}`); e == nil || e.Kind != toolserver.Unavailable || e.Sent {
			t.Fatalf("got %+v", e)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if starts, most := strings.Count(string(text), "\n"), int(time.Since(began)/time.Second)+1; starts > most {
		t.Errorf("got %d starts for %d calls, want at most one a second", starts, calls)
	}
}

// alive says whether a process is there and no zombie.
func alive(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(status), ") Z ")
}

func gone(t *testing.T, pid int) {
	t.Helper()
	for range 1200 {
		if !alive(pid) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

func pids(t *testing.T, file string) (server, child int) {
	t.Helper()
	for range 1200 {
		text, _ := os.ReadFile(file)
		if a, b, ok := strings.Cut(string(text), " "); ok {
			server, _ = strconv.Atoi(a)
			child, _ = strconv.Atoi(b)
			return server, child
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server has not started")
	return 0, 0
}

// TestGroup holds that a process ends with all that it has started.
func TestGroup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	s := process(t, "with a child", func(o *mcp.Options) { o.Env["PIDS"] = file })
	if _, err := s.List(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	server, child := pids(t, file)
	s.Close()
	gone(t, server)
	gone(t, child)
}

// TestStubborn holds that a process that neither its input's end nor a signal ends is killed, a
// call that it has not answered notwithstanding.
func TestStubborn(t *testing.T) {
	t.Parallel()
	called := filepath.Join(t.TempDir(), "called")
	s := process(t, "stubborn", func(o *mcp.Options) { o.Env[asCalled] = called })
	if _, e := call(untilThere(t, called), s, "echo", `{"do":"hang"}`); e == nil || e.Kind != toolserver.Timeout {
		t.Fatalf("got %v", e)
	}
	done := make(chan struct{})
	go func() { s.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("it is still waited for")
	}
}

// asGateway makes this binary a gateway with one server that has a child, until it is killed.
const asGateway = "CALLGATE_TEST_GATEWAY"

func beGateway() {
	s := mcp.Open(mcp.Options{Name: "srv", Command: []string{os.Args[0]}, Guard: []string{os.Args[0], "guard"}, Env: map[string]string{asServer: "with a child", "PIDS": os.Getenv("PIDS")}})
	if _, err := s.List(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println("up")
	_, _ = io.Copy(io.Discard, os.Stdin)
	select {}
}

// TestKilledGateway holds that a gateway which is killed leaves nothing behind: neither the
// server nor what that has started.
func TestKilledGateway(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	gateway := exec.Command(os.Args[0])
	gateway.Env = append(os.Environ(), asGateway+"=1", "PIDS="+file)
	out, err := gateway.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatal(line, err)
	}
	server, child := pids(t, file)
	_ = gateway.Process.Kill()
	_ = gateway.Wait()
	gone(t, server)
	gone(t, child)
}
