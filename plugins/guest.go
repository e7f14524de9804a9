package plugins

import (
	"context"

	"github.com/callgate/callgate/sdk/abi"
)

// The exports of a guest, with everything checked that comes out of it.

// maxEvents is how many events a guest may return at once. The smallest event is
// two bytes in the guest, and forty times that in the gateway.
const maxEvents = 1 << 16

// allocate gets the guest's buffer for at least n bytes.
func (in *instance) allocate(ctx context.Context, n int) error {
	ptr, err := in.call(ctx, in.fn.alloc, uint64(n))
	if err != nil {
		return err
	}
	if _, ok := in.linear.Read(uint32(ptr), uint32(n)); !ok || uint32(ptr) == 0 {
		return in.die(fail(KindBadPointer, "its buffer of %d bytes is outside of its memory", n))
	}
	in.buf = buffer{uint32(ptr), uint32(n)}
	return nil
}

// put writes b where the guest will find it.
func (in *instance) put(ctx context.Context, b []byte) error {
	if len(b) > int(in.buf.size) {
		if err := in.allocate(ctx, len(b)); err != nil {
			return err
		}
	}
	in.linear.Write(in.buf.ptr, b) // allocate has checked the range, and memory does not shrink
	return nil
}

// canParse asks a parser, by its number, about the first bytes of a region.
func (in *instance) canParse(ctx context.Context, parser int, head []byte) (abi.Verdict, error) {
	if err := in.put(ctx, head); err != nil {
		return abi.No, err
	}
	v, err := in.call(ctx, in.fn.canParse, uint64(parser), uint64(in.buf.ptr), uint64(len(head)))
	if err != nil {
		return abi.No, err
	}
	verdict := abi.Verdict(uint32(v))
	if verdict < abi.No || verdict > abi.Maybe {
		return abi.No, in.die(fail(KindBadResult, "can_parse returned %d, which is not a verdict", verdict))
	}
	return verdict, nil
}

// open makes a handle of a parser.
func (in *instance) open(ctx context.Context, parser int, options []byte) (int32, error) {
	if err := in.put(ctx, options); err != nil {
		return 0, err
	}
	v, err := in.call(ctx, in.fn.open, uint64(parser), uint64(in.buf.ptr), uint64(len(options)))
	if err != nil {
		return 0, err
	}
	handle := int32(uint32(v))
	switch {
	case handle >= 0:
	case handle == abi.OpenBadOptions:
		return 0, fail(KindRefused, "refuses its options")
	case handle == abi.OpenTooMany:
		return 0, fail(KindHandles, "the plugin has no room for another region")
	default:
		return 0, in.die(fail(KindBadResult, "open returned %d", handle))
	}
	return handle, nil
}

// feed passes at most abi.MaxFeed bytes on. The events are in the guest's memory.
func (in *instance) feed(ctx context.Context, handle int32, text []byte) ([]byte, error) {
	if err := in.put(ctx, text); err != nil {
		return nil, err
	}
	v, err := in.call(ctx, in.fn.feed, uint64(uint32(handle)), uint64(in.buf.ptr), uint64(len(text)))
	if err != nil {
		return nil, err
	}
	return in.result(v)
}

func (in *instance) finish(ctx context.Context, handle int32, reason abi.Reason) ([]byte, error) {
	v, err := in.call(ctx, in.fn.finish, uint64(uint32(handle)), uint64(uint32(reason)))
	if err != nil {
		return nil, err
	}
	return in.result(v)
}

func (in *instance) closeHandle(ctx context.Context, handle int32) error {
	_, err := in.call(ctx, in.fn.close, uint64(uint32(handle)))
	return err
}

// result finds the bytes of a packed result.
func (in *instance) result(v uint64) ([]byte, error) {
	ptr, n := abi.Unpack(v)
	if n == 0 {
		return nil, nil
	}
	b, ok := in.linear.Read(ptr, n)
	if !ok {
		return nil, in.die(fail(KindBadPointer, "its result is outside of its memory"))
	}
	return b, nil
}
