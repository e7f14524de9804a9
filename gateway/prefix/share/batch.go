package share

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"github.com/callgate/callgate/gateway/internal/subkey"
	"github.com/callgate/callgate/gateway/prefix"
)

// A batch is, in bytes:
//
//	"cgp" and the version
//	sender     8
//	deltas     each: length of the target's name, name, 0 or the drop's age + 1,
//	           number of marks, marks
//	seal       16, of HMAC-SHA256 over all before it
//
// A mark is 4 bytes of the block's hash, the low one first, and 2 × its age + 1 if the
// block is gone. Ages are counted in steps of 100 ms. Numbers without a size are varints.
const (
	magic     = "cgp"
	version   = 1
	sealSize  = 16
	senderEnd = len(magic) + 1 + len(sender{})
	step      = 100 * time.Millisecond
	maxSteps  = 1 << 31 // seven years
	// maxBatch bounds what is decoded, maxName a target's name. One that is longer is not
	// told of.
	maxBatch = 1 << 20
	maxName  = 4 << 10
)

// What decode fails with.
var (
	errForeign = errors.New("the entry is not of a gateway with this salt")
	errVersion = errors.New("the entry is of another version")
)

// sender tells a gateway's own batches from those of others.
type sender [8]byte

// seal makes and checks the ends of batches.
type seal struct{ key [subkey.Size]byte }

func newSeal(salt []byte) seal { return seal{subkey.Of(salt, "prefix share: seal")} }

// Fingerprint names a salt without giving it away: gateways with the same one share a
// stream. It is 16 hex digits.
func Fingerprint(salt []byte) string {
	sum := subkey.Of(salt, "prefix share: fingerprint")
	return hex.EncodeToString(sum[:8])
}

func (s seal) of(b []byte) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write(b)
	return mac.Sum(nil)[:sealSize]
}

// encode writes deltas that are older by age than they say.
func (s seal) encode(from sender, deltas []prefix.Delta, age time.Duration) []byte {
	b := append([]byte(magic), version)
	b = append(b, from[:]...)
	for _, d := range deltas {
		if len(d.Target) > maxName {
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(d.Target)))
		b = append(b, d.Target...)
		dropped := uint64(0)
		if d.Dropped {
			dropped = steps(d.DropAge, age) + 1
		}
		b = binary.AppendUvarint(b, dropped)
		b = binary.AppendUvarint(b, uint64(len(d.Marks)))
		for _, m := range d.Marks {
			b = binary.LittleEndian.AppendUint32(b, m.Block)
			n := steps(m.Age, age) << 1
			if m.Gone {
				n |= 1
			}
			b = binary.AppendUvarint(b, n)
		}
	}
	return append(b, s.of(b)...)
}

func steps(age, more time.Duration) uint64 {
	return uint64(min(max(0, (age+more)/step), maxSteps))
}

// decode reads a batch that was written age ago. It takes time and memory in proportion
// to it. The error is errForeign or errVersion.
func (s seal) decode(b []byte, age time.Duration) (from sender, deltas []prefix.Delta, err error) {
	if len(b) > maxBatch || len(b) < senderEnd || !bytes.HasPrefix(b, []byte(magic)) {
		return from, nil, errForeign
	}
	if b[len(magic)] != version {
		return from, nil, errVersion
	}
	end := len(b) - sealSize
	if end < senderEnd || !hmac.Equal(b[end:], s.of(b[:end])) {
		return from, nil, errForeign
	}
	from = sender(b[len(magic)+1:])
	for r := (reader{b[senderEnd:end], age}); len(r.rest) > 0; {
		d, ok := r.delta()
		if !ok { // a gateway has sealed what it cannot have written
			return from, nil, errForeign
		}
		deltas = append(deltas, d)
	}
	return from, deltas, nil
}

// reader reads what is between a batch's head and its seal.
type reader struct {
	rest []byte
	age  time.Duration
}

func (r *reader) number(most uint64) (uint64, bool) {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > most {
		return 0, false
	}
	r.rest = r.rest[size:]
	return n, true
}

func (r *reader) delta() (d prefix.Delta, ok bool) {
	length, ok := r.number(maxName)
	if !ok || length > uint64(len(r.rest)) {
		return d, false
	}
	d.Target, r.rest = string(r.rest[:length]), r.rest[length:]
	dropped, ok := r.number(maxSteps + 1)
	if !ok {
		return d, false
	}
	if dropped > 0 {
		d.Dropped, d.DropAge = true, r.older(dropped-1)
	}
	count, ok := r.number(math.MaxUint32)
	if !ok || count > uint64(len(r.rest))/5 { // a mark has 5 bytes at least
		return d, false
	}
	d.Marks = make([]prefix.Mark, 0, count)
	for range count {
		if len(r.rest) < 4 {
			return d, false
		}
		m := prefix.Mark{Block: binary.LittleEndian.Uint32(r.rest)}
		r.rest = r.rest[4:]
		n, ok := r.number(maxSteps<<1 | 1)
		if !ok {
			return d, false
		}
		m.Age, m.Gone = r.older(n>>1), n&1 == 1
		d.Marks = append(d.Marks, m)
	}
	return d, true
}

// older is a number of steps, and how long the batch was on its way.
func (r *reader) older(steps uint64) time.Duration {
	return time.Duration(steps)*step + max(0, r.age)
}
