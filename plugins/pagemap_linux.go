package plugins

import (
	"encoding/binary"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pagemap is /proc/self/pagemap, which has 64 bits for each page of the process.
type pagemap struct {
	file *os.File // keeps fd open
	fd   int
}

// Bits of an entry.
const (
	pageIsShared  = 1 << 61 // of a file, as all pages are that were only read
	pageIsSwapped = 1 << 62
	pageIsPresent = 1 << 63
)

// ownPages returns the pagemap, or nil if there is none that works. That must be
// sure: if it left out a page, a guest could remember something.
var ownPages = sync.OnceValue(func() *pagemap {
	file, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil
	}
	m := &pagemap{file, int(file.Fd())}
	if os.Getpagesize() != pageSize || !m.works() {
		_ = file.Close()
		return nil
	}
	return m
})

// works tries the pagemap on pages in all states that matter.
func (m *pagemap) works() bool {
	const pages = 8
	image := make([]byte, pages*pageSize)
	for i := range image {
		image[i] = byte(i >> 4)
	}
	shared, err := newSharedPages(image)
	if err != nil {
		return false
	}
	defer shared.close()
	b, err := reserve(len(image))
	if err != nil {
		return false
	}
	defer release(b)
	if shared.mapOver(b) != nil {
		return false
	}
	for range 2 { // the second time all that was written is there already
		b[1*pageSize]++
		b[3*pageSize-1]++
		b[6*pageSize] += b[5*pageSize]
		if !m.restore(b, image) || string(b) != string(image) {
			return false
		}
	}
	return true
}

// restore copies those pages of image to b that b has of its own. It reports false
// if there are too many of them, or if it cannot tell.
func (m *pagemap) restore(b, image []byte) bool {
	const batch = 512
	var entries [batch * 8]byte
	first := int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))) / pageSize) //nolint:gosec // only its number
	copied := 0
	for page := 0; page < len(b)/pageSize; page += batch {
		n := min(batch, len(b)/pageSize-page)
		got, err := unix.Pread(m.fd, entries[:n*8], (first+int64(page))*8)
		if err != nil || got != n*8 {
			return false
		}
		for i := range n {
			entry := binary.NativeEndian.Uint64(entries[i*8:])
			if entry&(pageIsPresent|pageIsSwapped) == 0 || entry&pageIsShared != 0 {
				continue
			}
			if copied++; copied > maxCopied {
				return false
			}
			at := (page + i) * pageSize
			copy(b[at:at+pageSize], image[at:at+pageSize])
		}
	}
	return true
}
