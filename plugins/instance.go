package plugins

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/callgate/callgate/plugins/meter"
	"github.com/callgate/callgate/sdk/abi"
)

// instance is one guest. Nothing in it is for more than one goroutine.
type instance struct {
	mod     *module
	wasm    api.Module
	linear  api.Memory
	mem     *memory
	fuel    api.MutableGlobal
	globals []api.MutableGlobal
	fn      functions
	stack   [3]uint64 // parameters and results of calls

	watch   stopwatch
	buf     buffer
	random  rand.PCG
	printed printed
	scratch []byte // for encoded options

	events [][]abi.Event // of runs that are closed, for others
	dead   *failure      // what ended the instance
	full   bool          // the guest has no room for another region, until one is closed
}

// functions are the exports of an instance. A function may not be called from two
// goroutines at once, so each instance has its own.
type functions struct {
	alloc, canParse, open, feed, finish, close api.Function
}

// buffer is where the guest lets the host write.
type buffer struct{ ptr, size uint32 }

// snapshot is the state that all instances of a module begin with.
type snapshot struct {
	memory  *image
	globals []uint64
	buf     buffer
	random  rand.PCG
	slept   time.Duration
}

// newInstance makes an instance whose memory is still that of the module.
func newInstance(ctx context.Context, m *module, w limitedTime) (*instance, error) {
	limit := uint64(m.limits.Memory)
	if m.rewritten.MaxPages > 0 {
		limit = min(limit, uint64(m.rewritten.MaxPages)<<16)
	}
	mem, err := newMemory(limit)
	if err != nil {
		return nil, err
	}
	in := &instance{mod: m, mem: mem, random: newRandom()}
	in.setTime(w)
	if err := in.watch.start(ctx); err != nil {
		mem.Free()
		return nil, err
	}
	allocator := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return mem })
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	in.wasm, err = m.runtime.InstantiateModule(
		experimental.WithMemoryAllocator(&in.watch, allocator), m.compiled, config)
	in.watch.stop()
	if err != nil {
		mem.Free()
		return nil, in.classify(err)
	}
	in.bind()
	return in, nil
}

// bind looks the exports up.
func (in *instance) bind() {
	in.linear = in.wasm.Memory()
	in.fn = functions{
		alloc:    in.wasm.ExportedFunction(abi.ExportAlloc),
		canParse: in.wasm.ExportedFunction(abi.ExportCanParse),
		open:     in.wasm.ExportedFunction(abi.ExportOpen),
		feed:     in.wasm.ExportedFunction(abi.ExportFeed),
		finish:   in.wasm.ExportedFunction(abi.ExportFinish),
		close:    in.wasm.ExportedFunction(abi.ExportClose),
	}
	in.fuel = in.wasm.ExportedGlobal(meter.FuelGlobal).(api.MutableGlobal)
	for _, name := range in.mod.rewritten.Globals {
		in.globals = append(in.globals, in.wasm.ExportedGlobal(name).(api.MutableGlobal))
	}
}

// limitedTime is what a stopwatch is set to.
type limitedTime struct {
	call, total time.Duration
	used        *time.Duration
}

func (in *instance) setTime(t limitedTime) {
	in.watch.guest = in
	in.watch.limit, in.watch.limitTotal, in.watch.total = t.call, t.total, t.used
	in.watch.grant, in.watch.most, in.watch.slow = fuel, fuel, false
	if known := in.mod.grant.Load(); known > 0 {
		in.watch.grant, in.watch.most, in.watch.slow = known, min(16*known, fuel), true
	}
	in.watch.given = in.watch.grant
}

// beginWork sets the count of the guest's work to 0.
func (in *instance) beginWork() {
	in.watch.work = 0
	in.fuel.Set(uint64(in.watch.given))
}

// work is how much the guest has worked since beginWork.
func (in *instance) work() int64 {
	return in.watch.work + int64(in.watch.given) - int64(int32(in.fuel.Get()))
}

// take makes a snapshot, and the instance like all that will begin with it.
func (in *instance) take() (*snapshot, error) {
	view, ok := in.linear.Read(0, in.linear.Size())
	if !ok {
		return nil, errors.New("the memory cannot be read")
	}
	s := &snapshot{memory: newImage(view), buf: in.buf, random: in.random, slept: in.watch.clockOffset}
	for _, g := range in.globals {
		s.globals = append(s.globals, g.Get())
	}
	return s, in.mem.attach(s.memory)
}

// adopt makes a new instance begin with a snapshot.
func (in *instance) adopt(s *snapshot) error {
	if missing := s.memory.size - len(in.mem.buf); missing > 0 {
		if _, ok := in.linear.Grow(uint32(missing >> 16)); !ok {
			return errors.New("the memory cannot grow to the size of the template's")
		}
	}
	if err := in.mem.attach(s.memory); err != nil {
		return err
	}
	in.restoreRest(s)
	return nil
}

// reset takes the instance back to the snapshot.
func (in *instance) reset(s *snapshot) error {
	if err := in.mem.reset(); err != nil {
		return err
	}
	in.restoreRest(s)
	return nil
}

// restoreRest restores what is not memory.
func (in *instance) restoreRest(s *snapshot) {
	for i, g := range in.globals {
		g.Set(s.globals[i])
	}
	in.fuel.Set(fuel)
	in.buf, in.random, in.watch.clockOffset = s.buf, s.random, s.slept
}

func (in *instance) close(ctx context.Context) {
	// An instance that was closed by its guest cannot fail to close.
	_ = in.wasm.Close(ctx)
}

// call calls a function of the guest. After an error in it the instance is dead.
func (in *instance) call(ctx context.Context, fn api.Function, params ...uint64) (uint64, error) {
	if in.dead != nil {
		return 0, in.dead
	}
	if err := in.watch.start(ctx); err != nil {
		return 0, err
	}
	copy(in.stack[:], params)
	err := fn.CallWithStack(&in.watch, in.stack[:])
	in.watch.stop()
	if err != nil {
		return 0, in.die(in.classify(err))
	}
	return in.stack[0], nil
}

// die ends the instance: whatever happened in it, its state is not to be trusted.
func (in *instance) die(f *failure) *failure {
	if in.dead == nil {
		in.dead = f
	}
	return in.dead
}

// classify finds out what an error of wazero means.
func (in *instance) classify(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		return fail(KindExit, "the plugin ended itself with exit code %d", exit.ExitCode())
	}
	if in.mem.refused {
		return fail(KindMemoryLimit, "failed after it was refused more than %d bytes of memory: %w", in.mem.limit, err)
	}
	return &failure{KindTrap, fmt.Errorf("failed: %w", err)}
}
