//go:build wasip1

package sdk

import (
	"unsafe"

	"github.com/callgate/callgate/sdk/abi"
)

// The exports of a guest, as package abi lists them. Nothing but the translation
// of pointers happens here. Go's collector does not move memory, and everything
// that the host reads or writes hangs off the variable module.

//go:wasmexport callgate1_manifest
func exportManifest() int64 {
	manifest = module.manifest()
	return pack(manifest)
}

// manifest is kept while the host reads it.
var manifest []byte

//go:wasmexport callgate1_alloc
func exportAlloc(n int32) int32 {
	return int32(address(module.alloc(n)))
}

//go:wasmexport callgate1_can_parse
func exportCanParse(parser, ptr, n int32) int32 {
	return int32(module.canParse(parser, input(ptr, n)))
}

//go:wasmexport callgate1_open
func exportOpen(parser, ptr, n int32) int32 {
	return module.open(parser, input(ptr, n))
}

//go:wasmexport callgate1_feed
func exportFeed(handle, ptr, n int32) int64 {
	return pack(module.feed(handle, input(ptr, n)))
}

//go:wasmexport callgate1_finish
func exportFinish(handle, reason int32) int64 {
	return pack(module.finish(handle, Reason(reason)))
}

//go:wasmexport callgate1_close
func exportClose(handle int32) { module.close(handle) }

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func pack(b []byte) int64 {
	if len(b) == 0 {
		return 0
	}
	return int64(abi.Pack(address(b), uint32(len(b))))
}

// input is the part of the input buffer that the host points at.
func input(ptr, n int32) []byte {
	return module.input(uint64(uint32(ptr)-address(module.in)), n)
}
