// Command goguest is a plugin for tests, made with the standard toolchain and no
// SDK. Its parser echoes what it is fed as content, unless that is a command.
package main

import (
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"github.com/callgate/callgate/sdk/abi"
)

const manifest = `{"abi": 1, "name": "goguest", "version": "1.0.0", "parsers": [
	{"name": "go", "version": "1.0.0", "priority": 50, "triggers": ["<go>"]},
	{"name": "go2", "version": "1.0.0", "priority": 50}]}`

var (
	in, out  []byte
	memory   string // of !remember
	garbage  [][]byte
	sink     []byte
	commands = map[string]func(arg string) string{
		"remember": func(arg string) string { memory = arg; return "" },
		"recall":   func(string) string { return memory },
		"loop":     func(string) string { return loop() },
		"alloc":    func(string) string { return alloc() },
		"bomb":     func(string) string { return bomb() },
		"recurse":  func(string) string { return string(rune(recurse(0))) },
		"panic":    func(string) string { panic("on purpose") },
		"nil":      func(string) string { var p *[8]byte; return string(p[:]) },
		"exit":     func(string) string { os.Exit(3); return "" },
		"print":    func(string) string { return printAll() },
		"say":      func(arg string) string { println(arg); return "" },
		"block":    func(string) string { select {} },
		"go":       func(string) string { return leaveBehind() },
		"sleep":    func(string) string { time.Sleep(time.Hour); return "slept" },
		"files":    func(string) string { return files() },
		"clock":    func(string) string { return clock() },
	}
)

func main() {}

//go:wasmexport callgate1_manifest
func manifestOf() uint64 { return pack([]byte(manifest)) }

//go:wasmexport callgate1_alloc
func allocate(n int32) uint32 {
	in = make([]byte, n)
	return address(in)
}

//go:wasmexport callgate1_can_parse
func canParse(_, _, _ int32) int32 { return int32(abi.Yes) }

//go:wasmexport callgate1_open
func open(parser, _, _ int32) int32 { return parser }

//go:wasmexport callgate1_feed
func feed(_, _, n int32) uint64 {
	text := string(in[:n])
	_, line, ok := strings.Cut(text, "!")
	name, arg, _ := strings.Cut(line, " ")
	if command := commands[name]; ok && command != nil {
		text = command(arg)
	}
	out = abi.AppendEvent(out[:0], abi.Event{Kind: abi.Content, Text: text})
	return pack(out)
}

//go:wasmexport callgate1_finish
func finish(_, _ int32) uint64 { return 0 }

//go:wasmexport callgate1_close
func closeHandle(_ int32) {}

func pack(b []byte) uint64 { return abi.Pack(address(b), uint32(len(b))) }

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func loop() string {
	n := 1
	for n != 0 {
		n = n*2 | 1
	}
	return "ended"
}

func alloc() string {
	for {
		sink = make([]byte, 100)
	}
}

func bomb() string {
	for {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		garbage = append(garbage, b)
	}
}

func recurse(n int) int {
	var a [16]int
	a[n&15] = n
	return recurse(n+1) + a[(n+1)&15]
}

func printAll() string {
	for {
		println("spam, spam, spam, spam, spam, spam, spam, spam, spam, spam")
	}
}

func leaveBehind() string {
	go func() {
		for {
			runtime.Gosched()
		}
	}()
	return "left"
}

func files() string {
	if _, err := os.ReadFile("/etc/passwd"); err == nil {
		return "read a file"
	}
	if len(os.Args) > 1 || len(os.Environ()) > 0 {
		return "has arguments"
	}
	return "nothing"
}

func clock() string {
	if time.Now().Year() > 1970 {
		return "knows the date"
	}
	start := time.Now()
	for time.Since(start) < 5*time.Millisecond {
		sink = append(sink[:0], 1)
	}
	return "runs"
}
