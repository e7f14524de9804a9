package resident

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const smaps = `00400000-01d08000 r-xp 00001000 fd:00 12345                              /usr/local/bin/call gate
Size:              25632 kB
Rss:               16228 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
01d09000-03cb7000 r--p 01909000 fd:00 12345                              /usr/local/bin/call gate
Anonymous:            12 kB
03cd0000-03e58000 rw-p 038cf000 fd:00 12345                              /usr/local/bin/call gate
Anonymous:             0 kB
c000000000-c000c00000 rw-p 00000000 00:00 0                              [anon: Go: heap]
Anonymous:         14556 kB
7f2a00000000-7f2a00e64000 r-xp 00000000 00:00 0 
Anonymous:         14736 kB
`

// TestMappings holds that only what is read alone, and as the file has it, is given back.
func TestMappings(t *testing.T) {
	t.Parallel()
	var files []string
	var given []uintptr
	for m := range mappings(strings.NewReader(smaps)) {
		files = append(files, m.file)
		if m.file == "/usr/local/bin/call gate" && m.asInFile() {
			given = append(given, m.from, m.to)
		}
	}
	const program = "/usr/local/bin/call gate"
	if want := []string{program, program, program, "[anon: Go: heap]", ""}; !slices.Equal(files, want) {
		t.Errorf("got files %q, want %q", files, want)
	}
	if want := []uintptr{0x400000, 0x1d08000}; !slices.Equal(given, want) {
		t.Errorf("got %x, want %x", given, want)
	}
}

// TestRelease holds that the process has less of its file in memory afterwards.
func TestRelease(t *testing.T) { //nolint:paralleltest // it looks at the whole process
	before := ofFiles(t)
	Release()
	if after := ofFiles(t); after >= before {
		t.Errorf("%d kB of files are in memory, and were %d before", after, before)
	}
}

// ofFiles is how many kB of files the process has in memory.
func ofFiles(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
