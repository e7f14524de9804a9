package plugins

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/callgate/callgate/plugins/meter"
	"github.com/callgate/callgate/sdk/abi"
)

// program is what does not change of a loaded module: its code, and the state that instances
// begin with. Hosts of one process share that of a trusted module, see programs.
type program struct {
	sha256    string
	size      int
	summary   *meter.Summary
	manifest  abi.Manifest
	rewritten *meter.Module
	code      *code
	runtime   wazero.Runtime
	compiled  wazero.CompiledModule
	snap      *snapshot

	compileTime time.Duration

	key   programKey
	users int           // under the lock of programs
	made  chan struct{} // closed when it is known whether good is set
	good  bool
}

func newProgram(key programKey) *program {
	return &program{sha256: fmt.Sprintf("%x", key.sum), key: key, users: 1, made: make(chan struct{})}
}

// programKey is all that a program follows from, but for the machine.
type programKey struct {
	sum    [sha256.Size]byte // of the module
	dir    string            // that its code comes from
	limits Limits            // a guest is told some of them as it starts
}

// programs are those that are loaded, of trusted modules: to rewrite, decode and validate
// the built-in parsers again for every host takes most of the time that a gateway needs to
// start. A plugin of somebody else has a program to itself, and with it a runtime, so that
// nothing of it lasts longer than its module. Nothing is kept here that no module uses.
type programs struct {
	mu   sync.Mutex
	live map[programKey]*program
}

var shared = programs{live: map[programKey]*program{}} //nolint:gochecknoglobals // of all hosts of the process

// enter returns the program of a key for one more module, and whether it is to make it: then it
// calls finish. Where others make it, enter waits; if they fail, it is the next to try.
func (s *programs) enter(ctx context.Context, key programKey) (p *program, mine bool, err error) {
	for {
		s.mu.Lock()
		p := s.live[key]
		if p == nil {
			p = newProgram(key)
			s.live[key] = p
			s.mu.Unlock()
			return p, true, nil
		}
		p.users++
		s.mu.Unlock()
		select {
		case <-p.made:
			if p.good {
				return p, false, nil
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
		s.leave(ctx, p)
		if err != nil {
			return nil, false, err
		}
	}
}

// finish tells those that wait for a program whether it was made.
func (s *programs) finish(p *program, good bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.good = good
	if !good {
		s.forget(p)
	}
	close(p.made)
}

// leave gives up one use of a program, shared or not. The last one frees it.
func (s *programs) leave(ctx context.Context, p *program) {
	s.mu.Lock()
	p.users--
	last := p.users == 0
	if last {
		s.forget(p)
	}
	s.mu.Unlock()
	if last {
		p.free(ctx)
	}
}

// forget keeps a program from new users. The programs are locked.
func (s *programs) forget(p *program) {
	if s.live[p.key] == p {
		delete(s.live, p.key)
	}
}

// free ends everything of the program. What fails to close is closed all the same.
func (p *program) free(ctx context.Context) {
	if p.runtime != nil {
		_ = p.runtime.Close(ctx)
	}
	if p.compiled != nil {
		_ = p.compiled.Close(ctx)
	}
	p.code.close(ctx)
	if p.snap != nil {
		p.snap.memory.close()
	}
}
