package plugins_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// endless is a loop of this code.
func endless(code ...any) []byte {
	return Code(Loop, Void, Code(code...), Br, 0, End, Unreachable)
}

// wasi is the only import of a guest, of which it is function 0.
func wasi(name, params string) []Import {
	return []Import{{Module: "wasi_snapshot_preview1", Name: name, Params: params, Results: "i"}}
}

// events is a guest that gives these events on every feed.
func events(e ...abi.Event) Guest { return Guest{Events: e} }

// feedFunc is the index of feed among the functions of a guest without imports.
const feedFunc = 4

var hostileGuests = []struct {
	name  string
	guest Guest
	want  plugins.ErrorKind // or several, with spaces between
}{
	{"loop", Guest{Funcs: []Func{Feed(endless())}}, plugins.KindTimeLimit},
	{"loop that does work", Guest{Funcs: []Func{Feed(endless(Const(0), Load, 2, 0, Drop))}}, plugins.KindTimeLimit},
	{"loop of memory.fill", Guest{Funcs: []Func{Feed(
		Const(100), MemoryGrow, 0, Drop,
		endless(Const(0), Const(0), Const(100<<16), 0xfc, 11, 0))}}, plugins.KindTimeLimit},
	{"loop of memory.grow", Guest{Funcs: []Func{Feed(endless(Const(1), MemoryGrow, 0, Drop))}}, plugins.KindTimeLimit},
	{"loop of random_get", Guest{Imports: wasi("random_get", "ii"), Funcs: []Func{Feed(
		Const(400), MemoryGrow, 0, Drop,
		endless(Const(0), Const(400<<16), Call, 0, Drop))}}, plugins.KindTimeLimit},
	{"loop of fd_write", Guest{Imports: wasi("fd_write", "iiii"), Funcs: []Func{Feed(
		Const(400), MemoryGrow, 0, Drop,
		endless(Const(1), Const(0), Const(400<<13), Const(16), Call, 0, Drop))}}, plugins.KindTimeLimit},
	{"loop of poll_oneoff", Guest{Imports: wasi("poll_oneoff", "iiii"), Funcs: []Func{Feed(
		endless(Const(BufferAt), Const(EventsAt), Const(1), Const(8), Call, 0, Drop))}}, plugins.KindTimeLimit},
	{"recursion", Guest{Funcs: []Func{Feed(LocalGet, 0, LocalGet, 1, LocalGet, 2, Call, feedFunc)}}, plugins.KindTrap + " " + plugins.KindTimeLimit},
	{"recursion with work", Guest{Funcs: []Func{Feed(
		LocalGet, 0, LocalGet, 1, LocalGet, 2, Call, feedFunc,
		LocalGet, 0, LocalGet, 1, LocalGet, 2, Call, feedFunc, 0x7c)}}, plugins.KindTrap + " " + plugins.KindTimeLimit},
	{"loop in a deep recursion", Guest{Funcs: []Func{
		Feed(Const(400_000), Call, feedFunc+3, Const64(0)),
		{Name: "deep", Params: "i", Body: Code(
			LocalGet, 0, Eqz, If, Void, endless(), End,
			LocalGet, 0, Const(-1), Add, Call, feedFunc+3)},
	}}, plugins.KindTimeLimit},
	{"trap", Guest{Funcs: []Func{Feed(Unreachable)}}, plugins.KindTrap},
	{"memory bomb and trap", Guest{Funcs: []Func{Feed(
		Loop, Void, Const(64), MemoryGrow, 0, Const(-1), Eq, If, Void, Unreachable, End, Br, 0, End, Unreachable)}}, plugins.KindMemoryLimit},
	{"load out of bounds", Guest{Funcs: []Func{Feed(Const(-8), Load, 2, 0, Drop, Const64(0))}}, plugins.KindTrap},
	{"exit", Guest{
		Imports: []Import{{Module: "wasi_snapshot_preview1", Name: "proc_exit", Params: "i"}},
		Funcs:   []Func{Feed(Const(3), Call, 0, Const64(0))},
	}, plugins.KindExit},

	{"pointer out of bounds", Guest{Funcs: []Func{Feed(Const64(abi.Pack(0x7fffffff, 8)))}}, plugins.KindBadPointer},
	{"length out of bounds", Guest{Funcs: []Func{Feed(Const64(abi.Pack(0, 0xffffffff)))}}, plugins.KindBadPointer},
	{"pointer and length overflow", Guest{Funcs: []Func{Feed(Const64(abi.Pack(0xfffffff0, 0x20)))}}, plugins.KindBadPointer},
	{"result of finish out of bounds", Guest{Funcs: []Func{
		{Name: abi.ExportFinish, Params: "ii", Results: "I", Body: Const64(abi.Pack(0x7fffffff, 8))}}}, plugins.KindBadPointer},
	{"open of no known code", Guest{Funcs: []Func{{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(-9)}}}, plugins.KindBadResult},
	{"open of unknown parser", Guest{Funcs: []Func{{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(abi.OpenUnknownParser)}}}, plugins.KindBadResult},
	{"open refuses", Guest{Funcs: []Func{{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(abi.OpenBadOptions)}}}, plugins.KindRefused},
	{"open has no room", Guest{Funcs: []Func{{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(abi.OpenTooMany)}}}, plugins.KindHandles},

	{"output too long", Guest{Funcs: []Func{Feed(
		Const(160), MemoryGrow, 0, Drop, Const64(abi.Pack(0, 9<<20)))}}, plugins.KindOutputLimit},
	{"too many events", Guest{Funcs: []Func{Feed(
		// The host has just filled the buffer with empty events. Make that three times as many.
		Const(1), MemoryGrow, 0, Drop,
		Const(0x20000), Const(0x10000), Const(0x10000), 0xfc, 10, 0, 0,
		Const(0x30000), Const(0x10000), Const(0x10000), 0xfc, 10, 0, 0,
		Const64(abi.Pack(BufferAt, 0x30000)))}}, plugins.KindOutputLimit},
	{"unknown event", Guest{Raw: "\x63\x01\x02"}, plugins.KindBadEvents},
	{"no event", Guest{Raw: "\x00\x00\x00"}, plugins.KindBadEvents},
	{"event ends early", Guest{Raw: "\x01\x7fabc"}, plugins.KindBadEvents},
	{"number too large", Guest{Raw: "\x05" + string(binary.AppendUvarint(nil, 1<<40))}, plugins.KindBadEvents},
	{"call begins with 1", events(abi.Event{Kind: abi.CallStart, Index: 1, Name: "f"}), plugins.KindBadEvents},
	{"two calls open", events(abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.CallStart, Index: 1, Name: "f"}), plugins.KindBadEvents},
	{"gap in calls", events(
		abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.CallEnd},
		abi.Event{Kind: abi.CallStart, Index: 2, Name: "f"}), plugins.KindBadEvents},
	{"arguments of no call", events(abi.Event{Kind: abi.Args, Text: "{}"}), plugins.KindBadEvents},
	{"arguments of another call", events(abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.Args, Index: 1, Text: "{}"}), plugins.KindBadEvents},
	{"end of no call", events(abi.Event{Kind: abi.CallEnd}), plugins.KindBadEvents},
	{"end beyond the text", events(abi.Event{Kind: abi.End, To: 1 << 20}), plugins.KindBadEvents},
	{"malformed beyond the text", events(abi.Event{Kind: abi.Malformed, To: 1 << 20}), plugins.KindBadEvents},
	{"malformed backwards", events(abi.Event{Kind: abi.Malformed, From: 3, To: 2}), plugins.KindBadEvents},
	{"content after the end", events(abi.Event{Kind: abi.End, To: 1}, abi.Event{Kind: abi.Content, Text: "x"}), plugins.KindBadEvents},
	{"cut of another call", events(abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.Cut, Index: 1}), plugins.KindBadEvents},
	{"cut of no call is allowed", events(abi.Event{Kind: abi.Cut}), ""},
}

// longText is fed to hostile guests: as long as a feed may be.
var longText = strings.Repeat("\x01\x00", abi.MaxFeed/2)

func TestHostileGuest(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Failures: 1000})
	load(t, h, "good", goGuest(t))
	for _, tt := range hostileGuests {
		t.Run(tt.name, func(t *testing.T) {
			guest := tt.guest
			guest.Manifest = Manifest("hostile")
			load(t, h, "hostile", guest.Wasm())
			for range 2 { // the second time with the next instance
				start := time.Now()
				_, err := feed(t, h, "hostile", longText)
				if got := kindOf(err); !oneOf(got, tt.want) {
					t.Errorf("got %q (%v), want %q", got, err, tt.want)
				}
				checkTime(t, start)
			}
			works(t, h)
		})
	}
}

func oneOf(got, want plugins.ErrorKind) bool {
	return slices.Contains(strings.Split(string(want), " "), string(got))
}

// checkTime allows for a busy machine: the time limit counts what a guest uses.
func checkTime(t *testing.T, start time.Time) {
	t.Helper()
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

var hostileCommands = []struct {
	command string
	want    plugins.ErrorKind // or several, with spaces between
	content string
}{
	{"loop", plugins.KindTimeLimit, ""},
	{"alloc", plugins.KindTimeLimit, ""},
	{"bomb", plugins.KindMemoryLimit, ""},
	{"recurse", plugins.KindMemoryLimit + " " + plugins.KindTimeLimit, ""},
	{"panic", plugins.KindTrap, ""},
	{"nil", plugins.KindTrap, ""},
	{"exit", plugins.KindExit, ""},
	{"print", plugins.KindTimeLimit, ""},
	{"block", plugins.KindTrap, ""},
	{"go", "", "left"},
	{"sleep", "", "slept"},
	{"files", "", "nothing"},
	{"clock", "", "runs"},
}

func TestHostileGoGuest(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Failures: 1000})
	load(t, h, "hostile", goGuest(t))
	load(t, h, "good", Guest{Events: []abi.Event{{Kind: abi.Content, Text: "good"}}}.Wasm())
	for _, tt := range hostileCommands {
		t.Run(tt.command, func(t *testing.T) {
			start := time.Now()
			got, err := feed(t, h, "go", "!"+tt.command)
			if kind := kindOf(err); !oneOf(kind, tt.want) || got != tt.content {
				t.Errorf("got %q, %q (%v), want %q, %q", got, kind, err, tt.content, tt.want)
			}
			checkTime(t, start)
			works(t, h)
			if got, err := feed(t, h, "hand", "x"); got != "good" || err != nil {
				t.Errorf("the other plugin: %q, %v", got, err)
			}
		})
	}
}
