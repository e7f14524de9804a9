package pluginstest

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// Endless is a loop of this code.
func Endless(code ...any) []byte {
	return Code(Loop, Void, Code(code...), Br, 0, End, Unreachable)
}

// WASI is the only import of a guest, of which it is function 0.
func WASI(name, params string) []Import {
	return []Import{{Module: "wasi_snapshot_preview1", Name: name, Params: params, Results: "i"}}
}

// Gives is a guest that gives these events on every feed.
func Gives(e ...abi.Event) Guest { return Guest{Events: e} }

// FeedFunc is the index of feed among the functions of a guest without imports.
const FeedFunc = 4

// Hostile is a guest that is loaded, and does harm when it is fed.
type Hostile struct {
	Name  string
	Guest Guest
	Want  string // the kind of error that ends it, or several with spaces between
}

// HostileGuests are guests made by hand that do all the harm that there is. What is wrong
// with the numbers of events shows if they are fed LongText.
func HostileGuests() []Hostile {
	return slices.Concat(endlessGuests(), trappingGuests(), lyingGuests())
}

// endlessGuests go on until they are stopped.
func endlessGuests() []Hostile {
	return []Hostile{
		{"loop", Guest{Funcs: []Func{Feed(Endless())}}, "time_limit"},
		{"loop that does work", Guest{Funcs: []Func{Feed(Endless(Const(0), Load, 2, 0, Drop))}}, "time_limit"},
		{"loop of memory.fill", Guest{Funcs: []Func{Feed(
			Const(100), MemoryGrow, 0, Drop,
			Endless(Const(0), Const(0), Const(100<<16), 0xfc, 11, 0))}}, "time_limit"},
		{"loop of memory.grow", Guest{Funcs: []Func{Feed(Endless(Const(1), MemoryGrow, 0, Drop))}}, "time_limit"},
		{"loop of random_get", Guest{Imports: WASI("random_get", "ii"), Funcs: []Func{Feed(
			Const(400), MemoryGrow, 0, Drop,
			Endless(Const(0), Const(400<<16), Call, 0, Drop))}}, "time_limit"},
		{"loop of fd_write", Guest{Imports: WASI("fd_write", "iiii"), Funcs: []Func{Feed(
			Const(400), MemoryGrow, 0, Drop,
			Endless(Const(1), Const(0), Const(400<<13), Const(16), Call, 0, Drop))}}, "time_limit"},
		{"loop of poll_oneoff", Guest{Imports: WASI("poll_oneoff", "iiii"), Funcs: []Func{Feed(
			Endless(Const(BufferAt), Const(EventsAt), Const(1), Const(8), Call, 0, Drop))}}, "time_limit"},
		{"recursion", Guest{Funcs: []Func{Feed(LocalGet, 0, LocalGet, 1, LocalGet, 2, Call, FeedFunc)}}, "trap time_limit"},
		{"recursion with work", Guest{Funcs: []Func{Feed(
			LocalGet, 0, LocalGet, 1, LocalGet, 2, Call, FeedFunc,
			LocalGet, 0, LocalGet, 1, LocalGet, 2, Call, FeedFunc, 0x7c)}}, "trap time_limit"},
		{"loop in a deep recursion", Guest{Funcs: []Func{
			Feed(Const(400_000), Call, FeedFunc+3, Const64(0)),
			{Name: "deep", Params: "i", Body: Code(
				LocalGet, 0, Eqz, If, Void, Endless(), End,
				LocalGet, 0, Const(-1), Add, Call, FeedFunc+3)},
		}}, "time_limit"},
	}
}

// trappingGuests fail, or point to memory that is not theirs.
func trappingGuests() []Hostile {
	return []Hostile{
		{"trap", Guest{Funcs: []Func{Feed(Unreachable)}}, "trap"},
		{"memory bomb and trap", Guest{Funcs: []Func{Feed(
			Loop, Void, Const(64), MemoryGrow, 0, Const(-1), Eq, If, Void, Unreachable, End, Br, 0, End, Unreachable)}}, "memory_limit"},
		{"load out of bounds", Guest{Funcs: []Func{Feed(Const(-8), Load, 2, 0, Drop, Const64(0))}}, "trap"},
		{"exit", Guest{
			Imports: []Import{{Module: "wasi_snapshot_preview1", Name: "proc_exit", Params: "i"}},
			Funcs:   []Func{Feed(Const(3), Call, 0, Const64(0))},
		}, "exit"},

		{"pointer out of bounds", Guest{Funcs: []Func{Feed(Const64(abi.Pack(0x7fffffff, 8)))}}, "bad_pointer"},
		{"length out of bounds", Guest{Funcs: []Func{Feed(Const64(abi.Pack(0, 0xffffffff)))}}, "bad_pointer"},
		{"pointer and length overflow", Guest{Funcs: []Func{Feed(Const64(abi.Pack(0xfffffff0, 0x20)))}}, "bad_pointer"},
		{"result of finish out of bounds", Guest{Funcs: []Func{
			{Name: abi.ExportFinish, Params: "ii", Results: "I", Body: Const64(abi.Pack(0x7fffffff, 8))}}}, "bad_pointer"},
		{"open of no known code", Guest{Funcs: []Func{{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(-9)}}}, "bad_result"},
		{"open of unknown parser", Guest{Funcs: []Func{{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(abi.OpenUnknownParser)}}}, "bad_result"},
		{"open refuses", Guest{Funcs: []Func{{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(abi.OpenBadOptions)}}}, "refused"},
		{"open has no room", Guest{Funcs: []Func{{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(abi.OpenTooMany)}}}, "handles"},
	}
}

// lyingGuests give events that make no sense, or too many.
func lyingGuests() []Hostile {
	return []Hostile{
		{"output too long", Guest{Funcs: []Func{Feed(
			Const(160), MemoryGrow, 0, Drop, Const64(abi.Pack(0, 9<<20)))}}, "output_limit"},
		{"too many events", Guest{Funcs: []Func{Feed(
			// The host has just filled the buffer with empty events. Make that three times as many.
			Const(1), MemoryGrow, 0, Drop,
			Const(0x20000), Const(0x10000), Const(0x10000), 0xfc, 10, 0, 0,
			Const(0x30000), Const(0x10000), Const(0x10000), 0xfc, 10, 0, 0,
			Const64(abi.Pack(BufferAt, 0x30000)))}}, "output_limit"},
		{"unknown event", Guest{Raw: "\x63\x01\x02"}, "bad_events"},
		{"no event", Guest{Raw: "\x00\x00\x00"}, "bad_events"},
		{"event ends early", Guest{Raw: "\x01\x7fabc"}, "bad_events"},
		{"number too large", Guest{Raw: "\x05" + string(binary.AppendUvarint(nil, 1<<40))}, "bad_events"},
		{"call begins with 1", Gives(abi.Event{Kind: abi.CallStart, Index: 1, Name: "f"}), "bad_events"},
		{"call without a name", Gives(abi.Event{Kind: abi.CallStart}, abi.Event{Kind: abi.Args, Text: "{}"}, abi.Event{Kind: abi.CallEnd}, abi.Event{Kind: abi.End, To: 1}), "bad_events"},
		{"two calls open", Gives(abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.CallStart, Index: 1, Name: "f"}), "bad_events"},
		{"gap in calls", Gives(
			abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.CallEnd},
			abi.Event{Kind: abi.CallStart, Index: 2, Name: "f"}), "bad_events"},
		{"arguments of no call", Gives(abi.Event{Kind: abi.Args, Text: "{}"}), "bad_events"},
		{"arguments of another call", Gives(abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.Args, Index: 1, Text: "{}"}), "bad_events"},
		{"end of no call", Gives(abi.Event{Kind: abi.CallEnd}), "bad_events"},
		{"end beyond the text", Gives(abi.Event{Kind: abi.End, To: 1 << 20}), "bad_events"},
		{"malformed beyond the text", Gives(abi.Event{Kind: abi.Malformed, To: 1 << 20}), "bad_events"},
		{"malformed backwards", Gives(abi.Event{Kind: abi.Malformed, From: 3, To: 2}), "bad_events"},
		{"content after the end", Gives(abi.Event{Kind: abi.End, To: 1}, abi.Event{Kind: abi.Content, Text: "x"}), "bad_events"},
		{"end inside of a call", Gives(abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.Args, Text: "{"}, abi.Event{Kind: abi.End, To: 1}), "bad_events"},
		{"no end of a call", Gives(abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.Args, Text: "{"}), "bad_events"},
		{"cut of another call", Gives(abi.Event{Kind: abi.CallStart, Name: "f"}, abi.Event{Kind: abi.Cut, Index: 1}), "bad_events"},
		{"cut of no call is allowed", Gives(abi.Event{Kind: abi.Cut}), ""},
	}
}

// LongText is a text for hostile guests: as long as a feed may be, and the encoding of
// very many empty events.
var LongText = strings.Repeat("\x01\x00", abi.MaxFeed/2)

// Command is something that the guest of plugins/testdata/goguest does when it is fed
// "!" and its name.
type Command struct {
	Name    string
	Want    string // the kind of error that ends it, or several with spaces between
	Content string // what it gives instead
}

// Commands are those that do harm, or try to.
func Commands() []Command {
	return []Command{
		{"loop", "time_limit", ""},
		{"alloc", "time_limit", ""},
		{"bomb", "memory_limit", ""},
		{"recurse", "memory_limit time_limit", ""},
		{"panic", "trap", ""},
		{"nil", "trap", ""},
		{"exit", "exit", ""},
		{"print", "time_limit", ""},
		{"block", "trap", ""},
		{"go", "", "left"},
		{"sleep", "", "slept"},
		{"files", "", "nothing"},
		{"clock", "", "runs"},
	}
}
