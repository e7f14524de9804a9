package share

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/prefix"
)

// draw draws deltas as an index gives them out.
func draw(t *rapid.T) (deltas []prefix.Delta) {
	age := func() time.Duration { return time.Duration(rapid.IntRange(0, 1<<20).Draw(t, "age")) * step }
	for range rapid.IntRange(0, 4).Draw(t, "deltas") {
		d := prefix.Delta{Target: rapid.String().Draw(t, "target"), Dropped: rapid.Bool().Draw(t, "dropped"), Marks: []prefix.Mark{}}
		if d.Dropped {
			d.DropAge = age()
		}
		for range rapid.IntRange(0, 20).Draw(t, "marks") {
			d.Marks = append(d.Marks, prefix.Mark{Block: rapid.Uint32().Draw(t, "block"), Age: age(), Gone: rapid.Bool().Draw(t, "gone")})
		}
		deltas = append(deltas, d)
	}
	return deltas
}

// TestBatch holds that what is decoded is what was encoded, and older by its ways; and
// that no other byte will do for any.
func TestBatch(t *testing.T) {
	t.Parallel()
	s := newSeal([]byte("salt"))
	rapid.Check(t, func(t *rapid.T) {
		want, from := draw(t), sender(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "sender"))
		waited, way := 3*step+step/2, 70*time.Millisecond
		b := s.encode(from, want, waited)
		sender, got, err := s.decode(b, way)
		if err != nil || sender != from {
			t.Fatalf("got sender %x and error %v, want %x", sender, err, from)
		}
		for i, d := range want {
			if d.Dropped {
				want[i].DropAge += 3*step + way
			}
			for j := range d.Marks {
				d.Marks[j].Age += 3*step + way
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		i := rapid.IntRange(0, len(b)-1).Draw(t, "place")
		b[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "change"))
		if _, _, err := s.decode(b, way); err == nil {
			t.Fatalf("got no error with the byte %d changed", i)
		}
	})
}

// TestForeign holds that what is not a batch, or another's, says so.
func TestForeign(t *testing.T) {
	t.Parallel()
	s := newSeal([]byte("salt"))
	good := s.encode(sender{1}, []prefix.Delta{{Target: "a/b", Marks: []prefix.Mark{{Block: 7}}}}, 0)
	sealed := func(body string) []byte {
		b := append([]byte(magic), version)
		b = append(append(b, make([]byte, 8)...), body...)
		return append(b, s.of(b)...)
	}
	next := bytes.Clone(good)
	next[len(magic)] = version + 1
	for _, tt := range []struct {
		name string
		b    []byte
		want error
	}{
		{"nothing", nil, errForeign},
		{"head alone", good[:senderEnd], errForeign},
		{"half a seal", good[:senderEnd+8], errForeign},
		{"without its last byte", good[:len(good)-1], errForeign},
		{"JSON", []byte(`{"a": [1, 2, 3], "b": "and so on"}`), errForeign},
		{"too long", append(bytes.Clone(good), make([]byte, maxBatch)...), errForeign},
		{"another salt", newSeal([]byte("pepper")).encode(sender{1}, nil, 0), errForeign},
		{"the next version", next, errVersion},
		{"no deltas", sealed(""), nil},
		{"a name that ends early", sealed("\x05ab"), errForeign},
		{"a name that is too long", sealed("\x81\x20" + strings.Repeat("a", 4097) + "\x00\x00"), errForeign},
		{"a number without an end", sealed("\x80"), errForeign},
		{"no drop", sealed("\x01a"), errForeign},
		{"a drop that is too old", sealed("\x01a\xff\xff\xff\xff\xff\x7f\x00"), errForeign},
		{"no marks", sealed("\x01a\x00"), errForeign},
		{"more marks than bytes", sealed("\x01a\x00\xff\xff\xff\xff\x0f" + "12345"), errForeign},
		{"half a mark", sealed("\x01a\x00\x02" + "1234\x00" + "12"), errForeign},
		{"a mark without an age", sealed("\x01a\x00\x01" + "1234\x80"), errForeign},
	} {
		if _, deltas, err := s.decode(tt.b, 0); !errors.Is(err, tt.want) || len(deltas) > 0 {
			t.Errorf("%s: got %v and error %v, want %v", tt.name, deltas, err, tt.want)
		}
	}
}

// TestLongNames holds that a target whose name cannot be decoded does not spoil the rest.
func TestLongNames(t *testing.T) {
	t.Parallel()
	s := newSeal(nil)
	b := s.encode(sender{}, []prefix.Delta{{Target: strings.Repeat("a", maxName+1)}, {Target: strings.Repeat("b", maxName)}}, 0)
	if _, deltas, err := s.decode(b, 0); err != nil || len(deltas) != 1 || deltas[0].Target[0] != 'b' {
		t.Errorf("got %d deltas and error %v, want the one of b", len(deltas), err)
	}
}

// TestFullBatch holds that the largest batch of a sharer can be decoded.
func TestFullBatch(t *testing.T) {
	t.Parallel()
	d := prefix.Delta{Target: "a", Marks: make([]prefix.Mark, batchMarks)}
	for i := range d.Marks {
		d.Marks[i].Age = 1<<62 - 1
	}
	s := newSeal(nil)
	b := s.encode(sender{}, []prefix.Delta{d}, 0)
	if _, deltas, err := s.decode(b, 0); err != nil || len(deltas) != 1 || len(deltas[0].Marks) != batchMarks {
		t.Errorf("got %d deltas of %d bytes and error %v, want all", len(deltas), len(b), err)
	}
}

// FuzzDecode decodes bytes as they come, and as the content of a batch that is sealed. An
// index takes what comes of it.
func FuzzDecode(f *testing.F) {
	s := newSeal([]byte("salt"))
	f.Add([]byte("\x03a/b\x05\x02\x01\x02\x03\x04\x07\x01\x02\x03\x05\x80\x01"))
	f.Add(s.encode(sender{1}, []prefix.Delta{{Target: "a/b", Dropped: true, Marks: []prefix.Mark{{Block: 7, Gone: true}}}}, time.Hour))
	f.Fuzz(func(t *testing.T, data []byte) {
		sealed := append([]byte(magic), version)
		sealed = append(append(sealed, make([]byte, 8)...), data...)
		sealed = append(sealed, s.of(sealed)...)
		for _, b := range [][]byte{data, sealed} {
			from, deltas, err := s.decode(b, time.Second)
			marks := 0
			for _, d := range deltas {
				marks += len(d.Marks)
			}
			if marks*5+len(deltas)*3 > len(b) {
				t.Errorf("got %d marks of %d bytes", marks, len(b))
			}
			if err != nil {
				continue
			}
			again, same, err := s.decode(s.encode(from, deltas, 0), 0)
			if err != nil || again != from || len(same) != len(deltas) {
				t.Errorf("got %v and error %v once more, want %v", same, err, deltas)
			}
			prefix.New(prefix.Options{Targets: []prefix.Target{{Name: "a/b", Entries: 10}}}).Apply(deltas)
		}
	})
}
