package plugins

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// Sizes and numbers of structures of WASI.
const (
	fileStatusSize   = 24
	fileTypeChar     = 2
	rightsAll        = 1<<29 - 1
	subscriptionSize = 48
	eventSize        = 32
	eventClock       = 0
	clockAbsolute    = 1
)

// isStandard reports whether fd is one of the three files that there are.
func isStandard(fd uint64) bool { return uint32(fd) <= 2 }

// fileStatus says that the standard files are terminals or the like.
func fileStatus(_ *stopwatch, mem api.Memory, p []uint64) uint64 {
	if !isStandard(p[0]) {
		return errnoBadf
	}
	var b [fileStatusSize]byte
	b[0] = fileTypeChar
	binary.LittleEndian.PutUint64(b[8:], rightsAll)
	if !mem.Write(uint32(p[1]), b[:]) {
		return errnoFault
	}
	return errnoSuccess
}

// fileRead is at the end of the file.
func fileRead(_ *stopwatch, mem api.Memory, p []uint64) uint64 {
	if uint32(p[0]) != 0 {
		return errnoBadf
	}
	if !mem.WriteUint32Le(uint32(p[3]), 0) {
		return errnoFault
	}
	return errnoSuccess
}

func fileSeek(_ *stopwatch, _ api.Memory, p []uint64) uint64 {
	if isStandard(p[0]) {
		return errnoSpipe
	}
	return errnoBadf
}

// fileWrite takes what the guest prints. All of it counts as written.
func fileWrite(w *stopwatch, mem api.Memory, p []uint64) uint64 {
	if fd := uint32(p[0]); fd != 1 && fd != 2 {
		return errnoBadf
	}
	list, count := uint32(p[1]), uint32(p[2])
	total := uint32(0)
	for i := range count {
		if i%wasiBatch == wasiBatch-1 {
			w.check()
		}
		at := uint64(list) + 8*uint64(i)
		if at > math.MaxUint32-8 {
			return errnoFault
		}
		ptr, ok1 := mem.ReadUint32Le(uint32(at))
		size, ok2 := mem.ReadUint32Le(uint32(at) + 4)
		text, ok3 := mem.Read(ptr, size)
		if !ok1 || !ok2 || !ok3 {
			return errnoFault
		}
		w.guest.printed.write(text)
		total += size
	}
	if !mem.WriteUint32Le(uint32(p[3]), total) {
		return errnoFault
	}
	return errnoSuccess
}

// poll says that everything a guest waits for has happened. If it sleeps, its
// clock is put forward instead.
func poll(w *stopwatch, mem api.Memory, p []uint64) uint64 {
	in, out, count := uint32(p[0]), uint32(p[1]), uint32(p[2])
	if count == 0 || count > wasiBatch {
		return errnoInval
	}
	subs, ok1 := mem.Read(in, count*subscriptionSize)
	events, ok2 := mem.Read(out, count*eventSize)
	if !ok1 || !ok2 || !mem.WriteUint32Le(uint32(p[3]), count) {
		return errnoFault
	}
	sleep := time.Duration(math.MaxInt64)
	for i := range int(count) {
		sub := subs[i*subscriptionSize:][:subscriptionSize]
		var event [eventSize]byte
		copy(event[:8], sub[:8]) // the guest's own number for it
		event[10] = sub[8]
		if sub[8] == eventClock {
			sleep = min(sleep, w.untilAlarm(sub))
		} else {
			sleep = 0
		}
		copy(events[i*eventSize:], event[:])
	}
	w.clockOffset = min(w.clockOffset+sleep, math.MaxInt64/4)
	return errnoSuccess
}

// untilAlarm is how long a subscription to a clock wants to sleep.
func (w *stopwatch) untilAlarm(sub []byte) time.Duration {
	timeout := min(binary.LittleEndian.Uint64(sub[24:]), math.MaxInt64/4)
	flags := binary.LittleEndian.Uint16(sub[40:])
	if flags&clockAbsolute != 0 {
		return max(0, time.Duration(timeout)-now()-w.clockOffset)
	}
	return time.Duration(timeout)
}
