package plugins

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pageSize is what the kernel counts memory in. It is a multiple of this on some
// machines, where pagemap is then not used.
const pageSize = 4096

// reserve returns n bytes of zeros that cost nothing until they are touched, so
// that a memory grows in place.
func reserve(n int) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of memory: %w", n, err)
	}
	b := unsafe.Slice((*byte)(p), n) //nolint:gosec // the n bytes that were mapped
	// A huge page would make each small instance 2 MiB. A kernel without huge
	// pages refuses this, which is just as well.
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	return b, nil
}

// release gives back what reserve gave.
func release(b []byte) {
	if cap(b) > 0 {
		_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b)), uintptr(cap(b))) //nolint:gosec // all that was mapped
	}
}

// sharedPages are bytes that many instances see in their memory, each with its
// own changes.
type sharedPages struct {
	fd   int
	view []byte // for reading
}

func newSharedPages(b []byte) (*sharedPages, error) {
	fd, err := unix.MemfdCreate("callgate-plugin", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	p := &sharedPages{fd: fd}
	if err := p.fill(b); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// fill writes the bytes, but for pages of zeros, which stay holes, and then seals
// the file: a file that shrinks would be a fault in whoever reads it.
func (p *sharedPages) fill(b []byte) error {
	if err := unix.Ftruncate(p.fd, int64(len(b))); err != nil {
		return fmt.Errorf("ftruncate: %w", err)
	}
	var zeros [pageSize]byte
	for off := 0; off < len(b); off += pageSize {
		page := b[off:][:pageSize]
		if string(page) == string(zeros[:]) {
			continue
		}
		if n, err := unix.Pwrite(p.fd, page, int64(off)); err != nil || n != pageSize {
			return fmt.Errorf("pwrite: %d bytes written: %w", n, err)
		}
	}
	_, err := unix.FcntlInt(uintptr(p.fd), unix.F_ADD_SEALS,
		unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL)
	if err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	view, err := unix.MmapPtr(p.fd, 0, nil, uintptr(len(b)), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	p.view = unsafe.Slice((*byte)(view), len(b)) //nolint:gosec // the bytes that were mapped
	return nil
}

// mapOver makes b, which is of the size of the pages, show them.
func (p *sharedPages) mapOver(b []byte) error {
	_, err := unix.MmapPtr(p.fd, 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)), //nolint:gosec // b was reserved
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("map the template's memory: %w", err)
	}
	return nil
}

// maxCopied is how many pages undo copies back. More would make an idle instance
// too large.
const maxCopied = 256

// undo takes back the changes to b since mapOver. Copying a page costs a tenth of
// the fault that there is after it was given up, and a response changes much the
// same pages as the one before it. So the pages that the instance has of its own
// are kept and copied, if the kernel says which they are.
func (p *sharedPages) undo(b []byte, own *ownPages) error {
	if pages := theirOwnPages(); pages != nil && (own.same() || pages.find(b, own)) {
		if own.resets++; own.resets%trimEvery != 0 {
			restore(b, p.view, own.pages)
			return nil
		}
		return p.trim(b, own)
	}
	own.known = false
	if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("madvise: %w", err)
	}
	return nil
}

// trimEvery is after how many responses an instance gives up the pages that the last one
// did not change: what responses to other models have touched would be copied each time.
const trimEvery = 64

// trim is undo that keeps only those pages of its own that were changed.
func (p *sharedPages) trim(b []byte, own *ownPages) error {
	kept := own.pages[:0]
	for _, page := range own.pages {
		at := page * pageSize
		if mine, image := b[at:at+pageSize], p.view[at:at+pageSize]; string(mine) != string(image) {
			copy(mine, image)
			kept = append(kept, page)
		} else if err := unix.Madvise(mine, unix.MADV_DONTNEED); err != nil {
			return fmt.Errorf("madvise: %w", err)
		}
	}
	own.pages = kept
	return nil
}

func (p *sharedPages) close() {
	release(p.view)
	_ = unix.Close(p.fd)
}
