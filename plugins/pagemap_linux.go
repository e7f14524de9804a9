package plugins

import (
	"encoding/binary"
	"os"
	"sync"
	"time"
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

// theirOwnPages returns the pagemap, or nil if there is none that works. That must be
// sure: if it left out a page, a guest could remember something.
var theirOwnPages = sync.OnceValue(func() *pagemap {
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

// works tries the pagemap, and the count of faults, on pages in all states that matter.
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
	for i := range 2 { // the second time all that was written is there already
		var own ownPages
		before := pageFaults()
		b[1*pageSize]++
		b[3*pageSize-1]++
		b[6*pageSize] += b[5*pageSize]
		if i == 0 && pageFaults()-before < 3 || !m.find(b, &own) {
			return false
		}
		if restore(b, image, own.pages); string(b) != string(image) {
			return false
		}
	}
	return true
}

// find finds the pages that b has of its own. It reports false if there are too many of
// them, or if it cannot tell.
func (m *pagemap) find(b []byte, own *ownPages) bool {
	if len(own.entries) < len(b)/pageSize*8 {
		own.entries = make([]byte, len(b)/pageSize*8)
	}
	own.pages, own.known = own.pages[:0], false
	entries := own.entries[:len(b)/pageSize*8]
	first := int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))) / pageSize) //nolint:gosec // only its number
	if got, err := unix.Pread(m.fd, entries, first*8); err != nil || got != len(entries) {
		return false
	}
	for i := range len(b) / pageSize {
		entry := binary.NativeEndian.Uint64(entries[i*8:])
		if entry&(pageIsPresent|pageIsSwapped) == 0 || entry&pageIsShared != 0 {
			continue
		}
		if len(own.pages) == maxCopied {
			return false
		}
		own.pages = append(own.pages, i)
	}
	own.known = true
	return true
}

// restore copies pages of image to b.
func restore(b, image []byte, pages []int) {
	for _, page := range pages {
		at := page * pageSize
		copy(b[at:at+pageSize], image[at:at+pageSize])
	}
}

// ownPages is what is known of the pages that a memory has of its own. It stays true as
// long as no page of the process is touched for the first time: what makes a page one's own is
// a fault, which the kernel counts. So a response as short as most are costs two looks at a
// number and not one at each page.
type ownPages struct {
	pages   []int // by number
	known   bool  // these are all
	faults  int64 // of the process, when the response began
	began   time.Duration
	resets  int    // that were made with them
	entries []byte // memory for find
}

// shortResponse is how long a response may be for which it pays to count faults. In a longer
// one somebody has had one.
const shortResponse = time.Millisecond

// begin notes that a response begins.
func (o *ownPages) begin() {
	if o.known {
		o.faults, o.began = pageFaults(), now()
	}
}

// same reports whether it is sure that the pages are still the same as when the response
// began.
func (o *ownPages) same() bool {
	return o.known && now()-o.began < shortResponse && o.faults == pageFaults()
}

// pageFaults counts the process's faults.
func pageFaults() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return -1 // which works finds out
	}
	return usage.Minflt + usage.Majflt
}
