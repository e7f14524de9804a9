// Package abi is the contract between the gateway (the host) and a parser
// plugin (the guest): names of exports, limits, and the bytes that cross the
// border. Both sides import it and it imports nothing but the standard library;
// sdk/README.md states the same as tables for authors in other languages.
//
// The border is narrow. The host writes text or options into a buffer that the
// guest gave it, calls an export, and reads back a list of events. Numbers are
// i32 or, for a pointer and a length together, one i64. Nothing else is shared.
package abi

// Version is the version of the ABI that this package describes. It is part of
// every export's name, so that a guest of another version is known before
// anything of it runs.
const Version = 1

// Prefix begins the name of every export of this version.
const Prefix = "callgate1_"

// Exports of a guest. All of them are required.
const (
	// ExportManifest is func() i64: packed pointer and length of the manifest,
	// which is JSON (see Manifest).
	ExportManifest = Prefix + "manifest"
	// ExportAlloc is func(n i32) i32: a buffer of n bytes for the host to write
	// into. It stays valid, and the guest leaves it alone, until the next alloc.
	ExportAlloc = Prefix + "alloc"
	// ExportCanParse is func(parser, ptr, n i32) i32: a Verdict on the first n
	// bytes of a region (at most MaxHead). It must not keep state.
	ExportCanParse = Prefix + "can_parse"
	// ExportOpen is func(parser, ptr, n i32) i32: a handle, 0 or more, or one of
	// the negative Open codes. The n bytes are encoded Options.
	ExportOpen = Prefix + "open"
	// ExportFeed is func(handle, ptr, n i32) i64: the next n bytes of the region;
	// packed pointer and length of the events they gave.
	ExportFeed = Prefix + "feed"
	// ExportFinish is func(handle, reason i32) i64: the output has ended (Reason).
	ExportFinish = Prefix + "finish"
	// ExportClose is func(handle i32). The handle may be given again by open.
	ExportClose = Prefix + "close"
	// ExportMemory is the guest's linear memory.
	ExportMemory = "memory"
	// ExportInitialize is called once before anything else, if it is there
	// (the WASI reactor convention).
	ExportInitialize = "_initialize"
)

// ManifestSection is the custom section that may hold the manifest, so that it
// can be read without running the guest.
const ManifestSection = "callgate.manifest"

// Limits that both sides know. The host's other limits are configuration.
const (
	// MaxHead is how many bytes of a region can_parse sees at most. A parser that
	// still answers Maybe with so many bytes has declined.
	MaxHead = 256
	// MaxFeed is how many bytes the host passes to feed at once. Longer text
	// comes in several calls.
	MaxFeed = 64 << 10
)

// Codes that open may return instead of a handle.
const (
	OpenUnknownParser = -1 // no such parser in this module
	OpenBadOptions    = -2 // the options cannot be decoded or are refused
	OpenTooMany       = -3 // the guest has no room for another handle
)

// Verdict is what can_parse says of the head of a region.
type Verdict int32

// The verdicts. No and Yes are final: more text must not change them.
const (
	No    Verdict = iota // not this parser's
	Yes                  // this parser's
	Maybe                // more text is needed to tell
)

// Reason is why the model's output ended, as finish is told.
type Reason int32

// The reasons. Anything that is not a cut is Stop.
const (
	Stop   Reason = iota // the model ended by itself
	Length               // cut off by a token limit
)

// Pack puts a pointer and a length into one result.
func Pack(ptr, n uint32) uint64 { return uint64(ptr)<<32 | uint64(n) }

// Unpack is the reverse of Pack.
func Unpack(v uint64) (ptr, n uint32) { return uint32(v >> 32), uint32(v) }
