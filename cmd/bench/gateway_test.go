package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/cli"
)

// TestMain makes the test the programs that a run starts: the upstream, the proxy, and the
// gateway.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		cli.Main()
		return
	}
	if len(os.Args) > 1 && (os.Args[1] == mockCommand || os.Args[1] == proxyCommand) {
		os.Exit(command())
	}
	os.Exit(m.Run())
}

// TestMainTable makes the whole main table, in as little time and as few rounds as there can be, and
// one part of it with a second program beside the first. A round has each client ask once at least.
func TestMainTable(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("CPU time and memory are measured on Linux only")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	one := []*program{{name: "callgate", path: self, cacheDir: filepath.Join(dir, "cache")}}
	var names []string
	for _, p := range parts() {
		const both = "gateway/chunk-native"
		b := &bench{time: 10 * time.Millisecond, rounds: 3, dir: dir, large: 64 << 10, programs: one}
		if p.name == both {
			b.programs = append(b.programs, &program{name: "older", path: self, cacheDir: one[0].cacheDir, compiled: one[0].compiled})
		}
		rows, err := p.rows(t.Context(), b)
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		for _, r := range rows {
			names = append(names, r.name)
			base, older, value, ratio := r.figures[0], r.figures[1], r.figures[2], r.figures[4]
			if value.missing() || older.missing() != (p.name != both) {
				t.Errorf("%s: got %v, want what each program takes", r.name, r.figures)
			}
			if r.target != nil && r.target.value != value && r.target.value != ratio {
				t.Errorf("%s: the target is for %v, and the figures are %v", r.name, r.target.value, r.figures)
			}
			if !ratio.missing() && (base <= 0 || value <= 0 || ratio <= 0) {
				t.Errorf("%s: got %v, want more than nothing", r.name, r.figures)
			}
		}
	}
	for _, want := range []string{"CPU a request, 64", "16 KB each way", "CPU a streamed chunk, 64", "inside a call in text, 64", "native call", "allocations",
		"best format", "worst format", "one whole answer", "idle", "128 streams, MiB", "128 streams inside", "p50, 1 client,", "p99, 1 client,", "p50, 64 clients", "p99, 64 clients"} {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, want) }) {
			t.Errorf("no row says %q: %q", want, names)
		}
	}
}

// TestCompared checks which contenders the figures of a row compare.
func TestCompared(t *testing.T) {
	t.Parallel()
	proxy, off := &contender{cpu: []float64{200, 400}}, &contender{cpu: []float64{500, 500}}
	gateway, older := &contender{cpu: []float64{300, 600}}, &contender{cpu: []float64{1000, 1000}}
	whole, stream := scenario{}, scenario{stream: true}
	tests := []struct {
		name string
		list []comparison
		want []figure
	}{
		{"one program", []comparison{whole.cpu(pair{proxy, gateway})}, []figure{300, none(), 450, none(), 1.5}},
		{"two", []comparison{whole.cpu(pair{proxy, gateway}), whole.cpu(pair{off, older})}, []figure{300, 1000, 450, 2, 1.5}},
		{"a chunk", []comparison{stream.cpu(pair{proxy, gateway})}, []figure{3, none(), 4.5, none(), 1.5}},
	}
	for _, tt := range tests {
		got := compared(tt.list)
		if !slices.EqualFunc(got, tt.want, func(a, b figure) bool { return a == b || a.missing() && b.missing() }) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestLargeTexts checks that large answers are as large as they are said to be.
func TestLargeTexts(t *testing.T) {
	t.Parallel()
	for model := range largeTexts {
		const size = 256 << 10
		if n := len(quoted(largeText(model, size))); n < size*9/10 || n > size*11/10 {
			t.Errorf("%s: %d bytes of JSON, want about %d", model, n, size)
		}
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	for only, want := range map[string]string{"gateway/chunk$": "gateway", "parse|start": "parse start", "languages|allocations": "gateway languages", "nothing": ""} {
		var got []string
		for _, s := range sections(regexp.MustCompile(only)) {
			got = append(got, s.name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("-only %q: got %q, want %q", only, got, want)
		}
	}
}
