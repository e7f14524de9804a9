package billing

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// packed is a row as bytes. The collector of garbage goes through all pointers that there are, again and again: of 20 000
// rows with their texts that took each request 10 µs.
type packed struct {
	id    rowID
	ms    int64 // its time
	bytes []byte
}

// rowID stands for a row's ID: a part of its hash.
type rowID [16]byte

func (r *Row) id() rowID {
	sum := sha256.Sum256([]byte(r.ID))
	return rowID(sum[:])
}

// packedSize is about how many bytes rows have together when they are packed.
func packedSize(rows []Row) (n int) {
	const numbers = 40 // and the lengths of texts
	for i := range rows {
		n += int(rows[i].size()) - rowSize + numbers
	}
	return n
}

// texts are the texts of a row, its ID first, and numbers its numbers.
func (r *Row) texts() [12]*string {
	return [...]*string{&r.ID, &r.Request, &r.Key, &r.Team, &r.Session, &r.Model, &r.Provider, &r.Served, &r.Arm, &r.Purpose, &r.PriceVersion, &r.Status}
}

func (r *Row) numbers() [6]*int64 {
	return [...]*int64{&r.Input, &r.Cached, &r.CacheWrite, &r.Output, &r.Reasoning, &r.Nano}
}

// pack appends a clean row to b; [packed.row] reads it.
func (r *Row) pack(b []byte) []byte {
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for _, s := range r.texts() {
		text(*s)
	}
	for _, n := range r.numbers() {
		b = binary.AppendVarint(b, *n)
	}
	for _, n := range [...]int64{int64(r.Tools), int64(r.Took), flag(r.Priced), flag(r.Estimated), int64(len(r.Labels))} {
		b = binary.AppendVarint(b, n)
	}
	for name, value := range r.Labels {
		text(name)
		text(value)
	}
	return b
}

func flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// row reads a row that was packed.
func (p *packed) row() Row {
	r, b := Row{Time: p.time()}, p.bytes
	text := func() string {
		n, size := binary.Uvarint(b)
		s := string(b[size : size+int(n)])
		b = b[size+int(n):]
		return s
	}
	number := func() int64 {
		n, size := binary.Varint(b)
		b = b[size:]
		return n
	}
	for _, s := range r.texts() {
		*s = text()
	}
	for _, n := range r.numbers() {
		*n = number()
	}
	r.Tools, r.Took, r.Priced, r.Estimated = int(number()), time.Duration(number()), number() == 1, number() == 1
	if n := number(); n > 0 {
		r.Labels = make(map[string]string, n)
		for range n {
			name := text()
			r.Labels[name] = text()
		}
	}
	return r
}

func (p *packed) time() time.Time { return time.UnixMilli(p.ms).UTC() }

// name is the row's ID, which comes first.
func (p *packed) name() []byte {
	n, size := binary.Uvarint(p.bytes)
	return p.bytes[size : size+int(n)]
}

// compare is the order of rows: by time and ID.
func (p *packed) compare(o *packed) int {
	if p.ms != o.ms {
		return cmp.Compare(p.ms, o.ms)
	}
	return bytes.Compare(p.name(), o.name())
}
