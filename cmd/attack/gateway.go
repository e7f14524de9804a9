package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The keys of the client that behaves well, and of all others.
const (
	goodKey = "attack-good-key"
	evilKey = "attack-evil-key"
)

// What the gateway keeps beside the requests in progress, in MiB, and what a compiler may take.
const (
	keptAnswers   = 16
	keptResponses = 64
	compileMemory = 256
)

// gateway is the gateway's process.
type gateway struct {
	cmd            *exec.Cmd
	address, admin string
	plugins        string // its folder of plugins
	ended          chan error
}

// config is the gateway's configuration.
func config(s settings, dir, good, evil, redis string) string {
	hash := func(key string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(key))) }
	return fmt.Sprintf(`listen: 127.0.0.1:0
admin: {listen: "127.0.0.1:0"}
shutdown_delay: 0s
log: {level: warn}
cache_salt: 0123456789abcdef0123456789abcdef
redis: {url: "redis://%s", interval: 1s}
answer_store: {memory: %dMiB}
store: {max_bytes: %dMiB}
limits: {memory: %dMiB}
keys: [{name: good, hash: %q}, {name: evil, hash: %q}]
plugins: {dir: %q, cache_dir: %q, limits: {compile_time: 10s, compile_memory: %dMiB}}
passthrough: {/v1/files: evil}
providers:
  good: {type: openai, base_url: "http://%s/v1", parser: hermes}
  evil:
    type: openai
    base_url: "http://%s/v1"
    parser: auto
    timeouts: {first_token: 10s, idle: 10s, comments: 10s, total: 30s}
    circuit_breaker: {failure_threshold: 1000, open_timeout: 1s}
models:
  good: {targets: [{provider: good}], routing: prefix}
  kept: {targets: [{provider: good}], answer_cache: redis}
  "*": {targets: [{provider: evil}], routing: prefix, answer_cache: redis, guard: report, loop_guard: report}
`, redis, keptAnswers, keptResponses, s.memory, hash(goodKey), hash(evilKey), filepath.Join(dir, "plugins"), filepath.Join(dir, "cache"), compileMemory, good, evil)
}

var listens = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

// start starts the gateway and waits until it is ready.
func start(ctx context.Context, s settings, dir, config string) (*gateway, error) {
	g := &gateway{plugins: filepath.Join(dir, "plugins"), ended: make(chan error, 1)}
	file := filepath.Join(dir, "callgate.yaml")
	if err := cmp.Or(os.Mkdir(g.plugins, 0o700), os.WriteFile(file, []byte(config), 0o600)); err != nil {
		return nil, err
	}
	log, err := os.Create(cmp.Or(s.log, filepath.Join(dir, "log")))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	g.cmd = exec.Command(s.program, "serve", "-c", file) //nolint:gosec,noctx // the program that is attacked; it is stopped by a signal
	g.cmd.Stderr, g.cmd.Env = log, append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%dMiB", 2*s.memory))
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for _, address := range []*string{&g.address, &g.admin} {
		for *address == "" && lines.Scan() {
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				*address = m[1]
			}
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		g.ended <- g.cmd.Wait()
	}()
	err = until(ctx, "a gateway that is ready", func() bool {
		status, _, err := get(ctx, "http://"+g.address+"/readyz")
		return err == nil && status == http.StatusOK
	})
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		err = fmt.Errorf("%w; its log: %s", err, text)
		return nil, cmp.Or(g.stop(), err)
	}
	return g, nil
}

// stop ends the gateway, and says if it did not end well.
func (g *gateway) stop() error {
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-g.ended:
		return err
	case <-time.After(time.Minute):
		_ = g.cmd.Process.Kill()
		return errors.Join(errors.New("the gateway still ran a minute after SIGTERM"), <-g.ended)
	}
}

// gauges are metrics without labels, by name.
func (g *gateway) gauges(ctx context.Context) map[string]float64 {
	_, text, err := get(ctx, "http://"+g.admin+"/metrics")
	if err != nil {
		return nil
	}
	found := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil && !strings.Contains(name, "{") {
			found[name] = n
		}
	}
	return found
}

// memory is a line of the process's status in MiB: VmRSS, or VmHWM, the peak. 0: nobody says.
func memory(pid int, name string) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // a system without it has none
	for line := range strings.Lines(string(text)) {
		value, ok := strings.CutPrefix(line, name+":")
		if kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB")); ok && err == nil {
			return kib / 1024
		}
	}
	return 0
}

// children are the processes that the gateway has started and that still run.
func (g *gateway) children() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	parent := fmt.Sprintf("\nPPid:\t%d\n", g.cmd.Process.Pid)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// get reads a page.
func get(ctx context.Context, url string) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// until waits until something is true.
func until(ctx context.Context, what string, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("there was not %s within three minutes: %w", what, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}
