package plugins_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
)

// TestWASI calls functions by hand and compares their error numbers, which come
// back as a number of events.
func TestWASI(t *testing.T) {
	t.Parallel()
	const out, far = 0x8000, 0x7fffffff
	tests := []struct {
		name, params string
		args         []byte
		want         int
	}{
		{"args_get", "ii", Code(Const(out), Const(out)), 0},
		{"args_sizes_get", "ii", Code(Const(out), Const(out)), 0},
		{"args_sizes_get", "ii", Code(Const(out), Const(far)), 21},
		{"clock_res_get", "ii", Code(Const(0), Const(out)), 0},
		{"clock_res_get", "ii", Code(Const(0), Const(far)), 21},
		{"clock_time_get", "iIi", Code(Const(0), Const64(0), Const(out)), 0},
		{"clock_time_get", "iIi", Code(Const(0), Const64(0), Const(far)), 21},
		{"fd_close", "i", Code(Const(0)), 8},
		{"fd_fdstat_get", "ii", Code(Const(1), Const(out)), 0},
		{"fd_fdstat_get", "ii", Code(Const(3), Const(out)), 8},
		{"fd_fdstat_get", "ii", Code(Const(1), Const(far)), 21},
		{"fd_prestat_get", "ii", Code(Const(3), Const(out)), 8},
		{"fd_read", "iiii", Code(Const(0), Const(out), Const(1), Const(out)), 0},
		{"fd_read", "iiii", Code(Const(0), Const(out), Const(1), Const(far)), 21},
		{"fd_read", "iiii", Code(Const(3), Const(out), Const(1), Const(out)), 8},
		{"fd_seek", "iIii", Code(Const(1), Const64(0), Const(0), Const(out)), 70},
		{"fd_seek", "iIii", Code(Const(3), Const64(0), Const(0), Const(out)), 8},
		{"fd_write", "iiii", Code(Const(1), Const(out), Const(1), Const(out)), 0},
		{"fd_write", "iiii", Code(Const(0), Const(out), Const(1), Const(out)), 8},
		{"fd_write", "iiii", Code(Const(1), Const(far), Const(1), Const(out)), 21},
		{"fd_write", "iiii", Code(Const(1), Const(-1), Const(1), Const(out)), 21},
		{"fd_write", "iiii", Code(Const(1), Const(out), Const(0), Const(far)), 21},
		{"path_open", "iiiiiIIii", Code(Const(3), Const(0), Const(out), Const(1), Const(0), Const64(0), Const64(0), Const(0), Const(out)), 8},
		{"poll_oneoff", "iiii", Code(Const(out), Const(out), Const(1), Const(out)), 0},
		{"poll_oneoff", "iiii", Code(Const(out), Const(out), Const(0), Const(out)), 28},
		{"poll_oneoff", "iiii", Code(Const(out), Const(out), Const(-1), Const(out)), 28},
		{"poll_oneoff", "iiii", Code(Const(out), Const(far), Const(1), Const(out)), 21},
		{"proc_raise", "i", Code(Const(9)), 52},
		{"random_get", "ii", Code(Const(out), Const(100)), 0},
		{"random_get", "ii", Code(Const(out), Const(far)), 21},
		{"sched_yield", "", nil, 0},
		{"sock_accept", "iii", Code(Const(3), Const(0), Const(out)), 8},
	}
	h := newHost(t, plugins.Config{})
	for _, tt := range tests {
		load(t, h, "hand.wasm", Guest{
			Imports: WASI(tt.name, tt.params),
			Raw:     strings.Repeat("\x01\x00", 100),
			Funcs:   []Func{Feed(tt.args, Call, 0, Const(1), 0x74, Extend, Const64(EventsAt<<32), 0x84)},
		}.Wasm())
		s := h.Session()
		got, err := open(t, s, "hand").Feed(t.Context(), []byte("x"))
		if len(got) != tt.want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", tt.name, len(got), err, tt.want)
		}
		s.Close()
	}
}
