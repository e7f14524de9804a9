package prefix

import "testing"

// TestSip compares with the vector of 16 bytes from SipHash's own reference code: the key
// 00 … 0f, the message 00 … 0f.
func TestSip(t *testing.T) {
	t.Parallel()
	var key Key
	for i := range key {
		key[i] = byte(i)
	}
	got := key.sip().sum(0x0706050403020100, 0x0f0e0d0c0b0a0908)
	if want := uint64(0x3f2acc7f57c29bdb); got != want {
		t.Errorf("got %#x, want %#x", got, want)
	}
}

// TestSketchNeverCountsTooLittle holds the sketch against exact counts.
func TestSketchNeverCountsTooLittle(t *testing.T) {
	t.Parallel()
	var s sketch
	exact := map[uint64]int{}
	for i := range uint64(50_000) {
		hash := Mix(i % (1 + i/3)) // some often, most rarely
		exact[hash]++
		if got, want := s.count(hash), min(exact[hash], 1<<16-1); got < want {
			t.Fatalf("got %d after %d times, want no less", got, want)
		}
	}
	for range 1 << 17 {
		s.count(1) // must stop at the cell's largest number, not turn over
	}
	if got, want := s.count(1), 1<<16-1; got != want {
		t.Errorf("got %d for a block seen very often, want %d", got, want)
	}
}
