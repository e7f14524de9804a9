package plugins

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// This is a WASI that gives nothing away: no files, arguments or environment, the
// same random numbers every time, a coarse clock that does not tell the date, and
// output that ends in a log. It is the gateway's own because every function of it
// must take a bounded time and look at the clock. In wazero's, a guest can have
// a good deal of work done for one step of its own, such as 32 MiB of random bytes.

const wasiModule = "wasi_snapshot_preview1"

// The error numbers of WASI that are used here.
const (
	errnoSuccess = 0
	errnoBadf    = 8
	errnoFault   = 21
	errnoInval   = 28
	errnoNosys   = 52
	errnoSpipe   = 70
)

const (
	// clockStep is how coarse the guest's clock is.
	clockStep = time.Millisecond
	// wasiBatch is how much a function does before it looks at the clock again:
	// bytes, or entries of a list.
	wasiBatch = 4096
)

// wasiFunc is a function of WASI. params has a letter for each parameter, i for
// i32 and I for i64. The result is an error number.
type wasiFunc struct {
	params string
	call   func(w *stopwatch, mem api.Memory, p []uint64) uint64
}

// signature is in the form of external.sig.
func (f wasiFunc) signature() string {
	s := ""
	for i, p := range f.params {
		if i > 0 {
			s += ", "
		}
		s += map[rune]string{'i': "i32", 'I': "i64"}[p]
	}
	if f.call == nil {
		return "(" + s + ")"
	}
	return "(" + s + ") i32"
}

// wasiFuncs are all functions of wasi_snapshot_preview1.
var wasiFuncs = map[string]wasiFunc{
	"args_get":                {"ii", succeed},
	"args_sizes_get":          {"ii", noStrings},
	"clock_res_get":           {"ii", clockResolution},
	"clock_time_get":          {"iIi", clockTime},
	"environ_get":             {"ii", succeed},
	"environ_sizes_get":       {"ii", noStrings},
	"fd_advise":               {"iIIi", badFile},
	"fd_allocate":             {"iII", badFile},
	"fd_close":                {"i", badFile},
	"fd_datasync":             {"i", badFile},
	"fd_fdstat_get":           {"ii", fileStatus},
	"fd_fdstat_set_flags":     {"ii", badFile},
	"fd_fdstat_set_rights":    {"iII", badFile},
	"fd_filestat_get":         {"ii", badFile},
	"fd_filestat_set_size":    {"iI", badFile},
	"fd_filestat_set_times":   {"iIIi", badFile},
	"fd_pread":                {"iiiIi", badFile},
	"fd_prestat_get":          {"ii", badFile},
	"fd_prestat_dir_name":     {"iii", badFile},
	"fd_pwrite":               {"iiiIi", badFile},
	"fd_read":                 {"iiii", fileRead},
	"fd_readdir":              {"iiiIi", badFile},
	"fd_renumber":             {"ii", badFile},
	"fd_seek":                 {"iIii", fileSeek},
	"fd_sync":                 {"i", badFile},
	"fd_tell":                 {"ii", badFile},
	"fd_write":                {"iiii", fileWrite},
	"path_create_directory":   {"iii", badFile},
	"path_filestat_get":       {"iiiii", badFile},
	"path_filestat_set_times": {"iiiiIIi", badFile},
	"path_link":               {"iiiiiii", badFile},
	"path_open":               {"iiiiiIIii", badFile},
	"path_readlink":           {"iiiiii", badFile},
	"path_remove_directory":   {"iii", badFile},
	"path_rename":             {"iiiiii", badFile},
	"path_symlink":            {"iiiii", badFile},
	"path_unlink_file":        {"iii", badFile},
	"poll_oneoff":             {"iiii", poll},
	"proc_exit":               {"i", nil},
	"proc_raise":              {"i", notSupported},
	"random_get":              {"ii", random},
	"sched_yield":             {"", succeed},
	"sock_accept":             {"iii", badFile},
	"sock_recv":               {"iiiiii", badFile},
	"sock_send":               {"iiiii", badFile},
	"sock_shutdown":           {"ii", badFile},
}

// instantiateWASI makes the functions known to a runtime.
func instantiateWASI(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(wasiModule)
	types := map[rune]api.ValueType{'i': api.ValueTypeI32, 'I': api.ValueTypeI64}
	for name, f := range wasiFuncs {
		var params []api.ValueType
		for _, p := range f.params {
			params = append(params, types[p])
		}
		var fn api.GoModuleFunc = exit
		results := []api.ValueType{}
		if f.call != nil {
			results = append(results, api.ValueTypeI32)
			fn = func(ctx context.Context, mod api.Module, stack []uint64) {
				w := watchOf(ctx)
				w.check()
				stack[0] = f.call(w, mod.Memory(), stack)
			}
		}
		b.NewFunctionBuilder().WithGoModuleFunction(fn, params, results).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// exit ends the guest.
func exit(_ context.Context, _ api.Module, stack []uint64) {
	panic(sys.NewExitError(uint32(stack[0])))
}

func succeed(*stopwatch, api.Memory, []uint64) uint64      { return errnoSuccess }
func badFile(*stopwatch, api.Memory, []uint64) uint64      { return errnoBadf }
func notSupported(*stopwatch, api.Memory, []uint64) uint64 { return errnoNosys }

// noStrings says that there are none of them, of no bytes.
func noStrings(_ *stopwatch, mem api.Memory, p []uint64) uint64 {
	if !mem.WriteUint32Le(uint32(p[0]), 0) || !mem.WriteUint32Le(uint32(p[1]), 0) {
		return errnoFault
	}
	return errnoSuccess
}

func clockResolution(_ *stopwatch, mem api.Memory, p []uint64) uint64 {
	if !mem.WriteUint64Le(uint32(p[1]), uint64(clockStep)) {
		return errnoFault
	}
	return errnoSuccess
}

// clockTime is real, so that a guest's garbage collector knows how long it takes,
// but for all clocks counts from the start of the gateway. Time that the guest
// slept has passed.
func clockTime(w *stopwatch, mem api.Memory, p []uint64) uint64 {
	t := (now() + w.clockOffset).Truncate(clockStep) + clockStep // 0 is no time to some
	if !mem.WriteUint64Le(uint32(p[2]), uint64(t)) {
		return errnoFault
	}
	return errnoSuccess
}

// random fills a buffer with numbers that only depend on how often it was called
// in this response.
func random(w *stopwatch, mem api.Memory, p []uint64) uint64 {
	buf, ok := mem.Read(uint32(p[0]), uint32(p[1]))
	if !ok {
		return errnoFault
	}
	g := w.guest
	for len(buf) > 0 {
		chunk := buf[:min(len(buf), wasiBatch)]
		buf = buf[len(chunk):]
		for len(chunk) > 0 {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], g.random.Uint64())
			chunk = chunk[copy(chunk, b[:]):]
		}
		w.check()
	}
	return errnoSuccess
}

func newRandom() rand.PCG { return *rand.NewPCG(1, 2) }
