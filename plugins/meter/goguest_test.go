package meter_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/callgate/callgate/plugins/meter"
)

const goGuest = `package main

import "sort"

var kept []int

//go:wasmexport sum
func sum(n int32) int64 {
	kept = make([]int, n)
	for i := range kept {
		kept[i] = int(n) - i
	}
	sort.Ints(kept)
	m := map[int]int{}
	s := 0
	for i, v := range kept {
		m[v]++
		s += v * (i + 1)
	}
	return int64(s + len(m))
}

//go:wasmexport spin
func spin() {
	for {
	}
}

func main() {}
`

// guestDir is where the guest was built, for TestMain to remove.
var guestDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if guestDir != "" {
		_ = os.RemoveAll(guestDir)
	}
	os.Exit(code)
}

// buildGoGuest builds the guest once.
var buildGoGuest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "meter")
	if err != nil {
		return nil, err
	}
	guestDir = dir
	for name, text := range map[string]string{"main.go": goGuest, "go.mod": "module guest\n\ngo 1.24\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-buildmode=c-shared", "-o", out, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Join(err, errors.New(string(msg)))
	}
	return os.ReadFile(out)
})

func goModule(tb testing.TB) []byte {
	tb.Helper()
	if testing.Short() {
		tb.Skip("building a Go guest takes seconds")
	}
	wasm, err := buildGoGuest()
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

func TestGoGuest(t *testing.T) {
	t.Parallel()
	wasm := goModule(t)
	m := rewrite(t, wasm, 20000)
	if !m.Stripped || len(m.Segments) == 0 || len(m.Globals) == 0 || m.Loops == 0 || m.Funcs == 0 {
		t.Errorf("got stripped %v, %d segments, %d globals, %d loops, %d functions",
			m.Stripped, len(m.Segments), len(m.Globals), m.Loops, m.Funcs)
	}
	ctx := context.Background()
	r := newRuntime(t)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	yields, limit := 0, 1<<30
	host := r.NewHostModuleBuilder(meter.HostModule)
	host.NewFunctionBuilder().WithFunc(func() int32 {
		if yields++; yields > limit {
			panic(errTimeUp)
		}
		return 20000
	}).Export(meter.HostYield)
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := r.InstantiateWithConfig(ctx, m.Wasm, wazero.NewModuleConfig().WithStartFunctions().WithSysNanotime())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Segments {
		if !mod.Memory().Write(s.Offset, s.Data) {
			t.Fatalf("segment at %d cannot be written", s.Offset)
		}
	}
	if _, err := mod.ExportedFunction("_initialize").Call(ctx); err != nil {
		t.Fatal(err)
	}
	const n = 20000
	want := uint64(n)
	for i := uint64(1); i <= n; i++ {
		want += i * i
	}
	res, err := mod.ExportedFunction("sum").Call(ctx, n)
	if err != nil || res[0] != want {
		t.Errorf("got %v, %v, want %d", res, err, want)
	}
	if yields == 0 {
		t.Error("the guest did not yield")
	}
	limit = yields + 100
	if _, err := mod.ExportedFunction("spin").Call(ctx); !errors.Is(err, errTimeUp) {
		t.Errorf("spin: got error %v, want %v", err, errTimeUp)
	}
}

func BenchmarkRewrite(b *testing.B) {
	b.Run("small", func(b *testing.B) { benchmarkRewrite(b, one(tI, tI, sumLoop)) })
	b.Run("go", func(b *testing.B) { benchmarkRewrite(b, goModule(b)) })
}

func benchmarkRewrite(b *testing.B, wasm []byte) {
	b.Helper()
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	var m *meter.Module
	for b.Loop() {
		var err error
		if m, err = meter.Rewrite(wasm, 20000); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(m.Wasm))/float64(len(wasm)), "size-ratio")
}
