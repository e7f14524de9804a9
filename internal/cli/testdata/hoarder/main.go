// Command hoarder is a plugin for tests. Its parser gives back all that it was ever fed,
// so that what one response leaves behind in an instance shows in the next.
package main

import (
	"unsafe"

	"github.com/callgate/callgate/sdk/abi"
)

const manifest = `{"abi": 1, "name": "hoarder", "version": "1.0.0", "parsers": [
	{"name": "hoarder", "version": "1.0.0", "priority": 50, "triggers": ["<hoard>"]}]}`

var in, out, hoard []byte

func main() {}

//go:wasmexport callgate1_manifest
func manifestOf() uint64 { return pack([]byte(manifest)) }

//go:wasmexport callgate1_alloc
func allocate(n int32) uint32 {
	in = make([]byte, n)
	return address(in)
}

//go:wasmexport callgate1_can_parse
func canParse(_, _, _ int32) int32 { return int32(abi.Yes) }

//go:wasmexport callgate1_open
func open(_, _, _ int32) int32 { return 0 }

//go:wasmexport callgate1_feed
func feed(_, _, n int32) uint64 {
	if hoard = append(hoard, in[:n]...); len(hoard) > 4096 {
		hoard = hoard[len(hoard)-4096:]
	}
	out = abi.AppendEvent(out[:0], abi.Event{Kind: abi.Content, Text: string(hoard)})
	return pack(out)
}

//go:wasmexport callgate1_finish
func finish(_, _ int32) uint64 { return 0 }

//go:wasmexport callgate1_close
func closeHandle(_ int32) {}

func pack(b []byte) uint64 { return abi.Pack(address(b), uint32(len(b))) }

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
