package plugins

import (
	"cmp"
	"context"
	"log/slog"
	"os/exec"
	"runtime"
	"time"
)

// Limits bound what a plugin may do. A field that is zero has its default.
type Limits struct {
	Input   int           // bytes of text that a response may feed to parsers: 1 MiB
	Time    time.Duration // time of a call into a guest: 100 ms
	Total   time.Duration // time of all calls of a response: 1 s
	Memory  int           // bytes of linear memory of an instance: 32 MiB
	Output  int           // bytes of events of a response: 8 MiB
	Handles int           // open handles of an instance: 16
	Depth   int           // nesting of JSON, which parsers are told: 128

	// These bound the process that compiles a plugin, see Config.Compiler.
	CompileTime   time.Duration // 1 min
	CompileMemory int           // bytes, on Linux a hard limit: 512 MiB
}

// MaxModule is how many bytes a module may have.
const MaxModule = 32 << 20

// How instances are kept apart between responses (Config.Isolation).
const (
	// IsolationReset starts every response from the state that the module had
	// after it was loaded.
	IsolationReset = "reset"
	// IsolationPooled leaves memory as the last response left it: faster, and a
	// plugin that remembers can carry text from one response to another.
	IsolationPooled = "pooled"
)

// Config is how a Host runs plugins. The zero value is usable.
type Config struct {
	// CacheDir keeps compiled code across starts of the process; empty means that
	// it is not kept. It is made if it does not exist. What it holds is machine
	// code that is run, so New refuses a directory that others can write to.
	CacheDir string
	// Compiler makes the command of a process that compiles plugins, with limits on its time
	// and memory: of a program that calls CompilerMain with the arguments which the host puts
	// behind the command's own. The context kills it. Without one, plugins are compiled in this
	// process, where only the figures of a module are bounded (see package meter) and nothing
	// stops a compilation that has begun; a module within the bounds takes seconds.
	Compiler func(context.Context) *exec.Cmd
	// Limits bound every plugin alike.
	Limits Limits
	// Isolation is IsolationReset, which is the default, or IsolationPooled.
	Isolation string
	// Idle is how many unused instances of a module are kept: 8*GOMAXPROCS. Less than 0 keeps
	// none. A region has one for as long as its stream takes, so many more are in use at once than
	// there are CPUs; to make one takes several thousand allocations.
	Idle int
	// MaxInstances is how many instances of a module may be in use at once: 4096.
	MaxInstances int
	// Failures is how many responses in a row a parser must fail to be
	// quarantined: 5.
	Failures int
	// Quarantine is how long a parser stays so before it is tried again: 60 s.
	Quarantine time.Duration
	// Took is told, when a region's reading ends, how long the guest has worked on it; a
	// session that has several open at once gives each of them all of that time. It may
	// be nil, and must be safe for concurrent use.
	Took func(parser string, d time.Duration)
	// Log takes loads, quarantines and, at debug level, what guests print. Nil
	// discards them.
	Log *slog.Logger
}

// Source is a module to load.
type Source struct {
	// Name is the path of a file, or "builtin". It names the plugin in messages,
	// and a module of the same name replaces the one that is loaded.
	Name string
	// Wasm is the module.
	Wasm []byte
	// Trusted is a module that is a part of the program. It is compiled in this process, whose
	// hosts share what is made of it as long as one of them has it.
	Trusted bool
	// Await is called when the module could take over, and may wait, for as long as ctx lasts,
	// until others that come before it have. It may be nil.
	Await func(ctx context.Context)
	// Accept is told all parsers that there would be, before the module takes over, and
	// with an error it does not. It may be nil.
	Accept func([]Info) error
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	c.Isolation = cmp.Or(c.Isolation, IsolationReset)
	c.Idle = cmp.Or(c.Idle, 8*runtime.GOMAXPROCS(0))
	c.MaxInstances = cmp.Or(c.MaxInstances, 4096)
	c.Failures = cmp.Or(c.Failures, 5)
	c.Quarantine = cmp.Or(c.Quarantine, time.Minute)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func (l Limits) withDefaults() Limits {
	l.Input = cmp.Or(l.Input, 1<<20)
	l.Time = cmp.Or(l.Time, 100*time.Millisecond)
	l.Total = cmp.Or(l.Total, time.Second)
	l.Memory = cmp.Or(l.Memory, 32<<20)
	l.Output = cmp.Or(l.Output, 8<<20)
	l.Handles = cmp.Or(l.Handles, 16)
	l.Depth = cmp.Or(l.Depth, 128)
	l.CompileTime = cmp.Or(l.CompileTime, time.Minute)
	l.CompileMemory = cmp.Or(l.CompileMemory, 512<<20)
	return l
}
