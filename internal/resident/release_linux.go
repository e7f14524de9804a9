package resident

import (
	"bufio"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Release gives back what only a program's start has needed: memory that is free, and pages of the program's own file, such as
// code that runs once and data that is embedded. Pages that are needed again come from the page cache; the kernel can use
// the others for something else, and they do not count as the process's any more. What fails stays as it was.
func Release() {
	debug.FreeOSMemory()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	for m := range mappings(f) {
		if m.file == program && m.asInFile() {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
		}
	}
}

// mapping is a part of a process's memory.
type mapping struct {
	from, to uintptr
	writable bool
	file     string // "" of none
	// own is how much of it is the process's own copy, as "0 kB".
	own string
}

// asInFile reports whether all pages are as the file has them: none is lost that is given back.
func (m *mapping) asInFile() bool { return !m.writable && m.own == "0 kB" }

// mappings reads a process's smaps.
func mappings(smaps io.Reader) func(yield func(mapping) bool) {
	return func(yield func(mapping) bool) {
		var m mapping
		for lines := bufio.NewScanner(smaps); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ":")
			switch {
			case name == "Anonymous":
				if m.own = strings.TrimSpace(value); !yield(m) {
					return
				}
			case strings.Contains(name, "-"):
				m = readMapping(lines.Text())
			}
		}
	}
}

// readMapping reads the line that begins a mapping: its addresses, rights, offset, device, inode and file.
func readMapping(line string) (m mapping) {
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return m
	}
	from, to, _ := strings.Cut(fields[0], "-")
	first, err := strconv.ParseUint(from, 16, strconv.IntSize)
	end, err2 := strconv.ParseUint(to, 16, strconv.IntSize)
	if err != nil || err2 != nil || end < first {
		return m
	}
	return mapping{from: uintptr(first), to: uintptr(end), writable: strings.Contains(fields[1], "w"), file: strings.Join(fields[5:], " ")}
}
