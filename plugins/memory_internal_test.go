package plugins

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

func randomBytes(n int) []byte {
	random := rand.NewChaCha8([32]byte{})
	b := make([]byte, n)
	_, _ = random.Read(b)
	return b
}

func TestMemoryReset(t *testing.T) {
	t.Parallel()
	const size, limit = 2 << 20, 4 << 20
	original := randomBytes(size)
	copy(original[1<<19:], make([]byte, 1<<16)) // and pages of zeros
	tests := []struct {
		name  string
		image *image
	}{
		{"large", newImage(original)},
		{"small", newImage(original[:128<<10])},
		{"large without shared pages", &image{size: size, bytes: original}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			defer tt.image.close()
			want := original[:tt.image.size]
			m, err := newMemory(limit)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Free()
			m.Reallocate(uint64(tt.image.size))
			if err := m.attach(tt.image); err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, 1))
			// Few pages are copied back, many are given up. Nothing may rest on the
			// pages of the last time.
			for i, writes := range []int{0, 1, 10, 10, 2000, 0, 10, 10, 0, 11, 5000, 1, 1} {
				if !bytes.Equal(m.buf, want) {
					t.Fatal("the memory is not that of the image")
				}
				if i%3 > 0 {
					m.begin()
				}
				for range writes {
					m.buf[random.IntN(len(want))] ^= 0xff
				}
				if err := m.reset(); err != nil {
					t.Fatal(err)
				}
			}
			for range 200 { // over some trims
				m.begin()
				for range random.IntN(8) {
					m.buf[random.IntN(40)*1000] ^= 0xff
				}
				if err := m.reset(); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(m.buf, want) {
					t.Fatal("the memory is not that of the image")
				}
			}
		})
	}
}

func TestMemoryGrows(t *testing.T) {
	t.Parallel()
	const page, limit = 1 << 16, 8 << 16
	reserved, err := newMemory(limit)
	if err != nil {
		t.Fatal(err)
	}
	defer reserved.Free()
	for name, m := range map[string]*memory{"reserved": reserved, "not reserved": {limit: limit}} {
		m.Reallocate(page)
		m.buf[page-1] = 42
		im := newImage(m.buf)
		if err := m.attach(im); err != nil {
			t.Fatal(err)
		}
		for n := 2; n <= 8; n++ {
			if got := m.Reallocate(uint64(n) * page); len(got) != n*page || got[page-1] != 42 || got[n*page-1] != 0 {
				t.Errorf("%s: %d pages: got %d bytes", name, n, len(got))
			}
		}
		if m.refused {
			t.Errorf("%s: refused before the limit", name)
		}
		if got := m.Reallocate(9 * page); got != nil || !m.refused {
			t.Errorf("%s: beyond the limit: got %d bytes, refused %t", name, len(got), m.refused)
		}
		if err := m.reset(); !errors.Is(err, errGrown) {
			t.Errorf("%s: reset: got %v, want %v", name, err, errGrown)
		}
	}
}
