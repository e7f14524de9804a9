package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
)

const (
	endTime   = 2 * time.Second // for a process to end when its input ends, and again when it is told to
	fallTime  = time.Second     // for a process that has failed to end by itself, so that it can be said how
	keptWords = 2 << 10         // of what it writes to its standard error
	maxFlood  = 64 << 20        // bytes that it may write between two calls of ours
)

// process is a server that runs on this machine, with all that it has started.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	said   *tail
	astray stray
	read   atomic.Int64 // bytes of its output since something was last written to it
	fell   atomic.Bool  // it has closed its pipes, and so ended, before it was told to
	told   atomic.Bool  // to end
	exited chan struct{}
	once   sync.Once
}

// Environment are the variables of the gateway's own environment that a server gets beside
// those of the configuration. None of them is a credential; the gateway's keys are none of them.
func Environment() []string {
	return []string{"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "COMSPEC"}
}

// start starts the command of o. Nothing of it is read by a shell.
func start(o Options) (*process, error) {
	command := slices.Concat(o.Guard, o.Command)
	if len(o.Guard) > 0 {
		command = slices.Concat(o.Guard, limiting(o.Limits), o.Command)
		if _, err := exec.LookPath(o.Command[0]); err != nil && o.Directory == "" {
			return nil, fmt.Errorf("start: %w", err) // the guard would say it later
		}
	}
	if len(o.Guard) == 0 && o.Limits != (Limits{}) {
		return nil, errNoLimits
	}
	if o.Directory != "" {
		if _, err := os.Stat(o.Directory); err != nil {
			return nil, fmt.Errorf("its directory: %w", err) // else the system would say it of the command
		}
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec,noctx // the operator's own; end ends it, with its group
	cmd.Dir, cmd.Env = o.Directory, []string{}
	for _, name := range Environment() {
		value, has := os.LookupEnv(name)
		if _, own := o.Env[name]; has && !own {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range o.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	slices.Sort(cmd.Env)
	cmd.SysProcAttr = attributes(len(o.Guard) > 0)
	p := &process{cmd: cmd, said: new(tail), exited: make(chan struct{})}
	cmd.Stderr = p.said
	cmd.WaitDelay = endTime // a grandchild may hold its standard error
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, w, err := os.Pipe() // of our own: Wait must not close what is still read
	if err != nil {
		return nil, err
	}
	cmd.Stdout, p.stdout = w, stdout
	p.stdin = &input{stdin, p}
	err = cmd.Start()
	w.Close()
	if err != nil {
		stdout.Close()
		return nil, fmt.Errorf("start %s: %w", o.Command[0], err)
	}
	go func() {
		awaitEnd(cmd.Process.Pid)
		killGroup(cmd) // what it has left behind, before its number can be another's
		_ = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// Read implements io.Reader, for the SDK.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.stdout.Read(b)
	p.astray.see(b[:n])
	p.note(err)
	if p.read.Add(int64(n)) > maxFlood {
		killGroup(p.cmd)
		return 0, errFlood
	}
	return n, err
}

// note looks at an error of the pipes, which a process that ends by itself closes.
func (p *process) note(err error) {
	if err != nil && !p.told.Load() {
		p.fell.Store(true)
	}
}

var errNoLimits = errors.New("the limits of its process (max_memory, max_cpu, max_files) cannot be set here: they need Linux, with /proc")

var errFlood = errors.New("it writes without end, beyond the maximum line length")

// Close implements io.Closer, for the SDK.
func (p *process) Close() error {
	p.end()
	return nil
}

// end closes the process's input, and makes it end: gently, then by signal, then by force, with
// its whole group. It returns when it has ended.
func (p *process) end() {
	p.once.Do(func() {
		p.told.Store(true)
		_ = p.stdin.Close()
		if !p.endsWithin(endTime) {
			terminateGroup(p.cmd)
			if !p.endsWithin(endTime) {
				killGroup(p.cmd)
			}
		}
		<-p.exited
		if p.fell.Load() {
			p.seeRest()
		}
		_ = p.stdout.Close()
	})
	<-p.exited
}

// seeRest looks at the output that nobody has read of a process that has ended: a write that failed
// may have told of its end first.
func (p *process) seeRest() {
	if p.stdout.SetReadDeadline(time.Now().Add(fallTime)) != nil { // one that left the group may hold it open
		return
	}
	b := make([]byte, 4<<10)
	for left := maxFlood; left > 0; {
		n, err := p.stdout.Read(b)
		p.astray.see(b[:n])
		if left -= n; err != nil {
			return
		}
	}
}

func (p *process) endsWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// cause says why a process with which err has happened is of no use: how it has ended by itself, or
// else err, and what it said last. It is for operators alone.
func (p *process) cause(err error) string {
	fact := toolserver.Words(err.Error())
	if errors.Is(err, context.DeadlineExceeded) {
		fact = "the command runs, and does not answer"
	}
	ended := p.fell.Load() && p.endsWithin(fallTime)
	if ended {
		p.seeRest()
	}
	line := toolserver.Words(p.astray.String())
	if line != "" {
		fact = "the command wrote to its standard output what is no message of MCP, and its log may go to standard error only: " + line
	}
	words, how, guarded := cutEnd(p.said.String())
	if ended && !guarded { // of a guard is known that it was killed
		how = p.cmd.ProcessState.String()
	}
	if ended && line == "" {
		fact = "the command ended with " + how
	}
	if i := strings.LastIndexByte(words, '\n'); i >= 0 {
		words = words[i+1:]
	}
	if words = toolserver.Words(words); words != "" {
		fact += "; its last words: " + words
	}
	return fact
}

// guardSays begins the line in which a guard says how the command has ended.
const guardSays = "callgate: the command ended with "

// cutEnd cuts off a text what a guard says behind it of the command's end.
func cutEnd(text string) (before, end string, found bool) {
	i := strings.LastIndex("\n"+text, "\n"+guardSays)
	if i < 0 {
		return text, "", false
	}
	return strings.TrimSpace(text[:i]), text[i+len(guardSays):], true
}

// input is a process's standard input. Who writes waits for an answer, so output counts anew.
type input struct {
	io.WriteCloser
	p *process
}

// Write implements io.Writer.
func (i *input) Write(b []byte) (int, error) {
	i.p.read.Store(0)
	n, err := i.WriteCloser.Write(b)
	i.p.note(err)
	return n, err
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(0, len(b)-keptWords):]...)
	t.kept = append(t.kept[:0], t.kept[max(0, len(t.kept)-keptWords):]...)
	return len(b), nil
}

// String is what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
