package tracelog_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/simulate"
	"github.com/callgate/callgate/gateway/prefix/tracelog"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// read reads files of an archive as logs of the route m since 13:00.
func read(t *testing.T, files []txtar.File, wrap func([]byte) io.Reader) (trace, problems, summary string) {
	t.Helper()
	var problem strings.Builder
	r := tracelog.New(tracelog.Options{Since: time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC), Route: "m",
		Problem: func(p *tracelog.LineError) { fmt.Fprintln(&problem, p) }})
	for _, f := range files {
		if err := r.Read(f.Name, wrap(f.Data)); err != nil {
			t.Fatal(err)
		}
	}
	requests, s := r.Trace()
	var out bytes.Buffer
	if err := simulate.WriteTrace(&out, requests); err != nil {
		t.Fatal(err)
	}
	if again, err := simulate.ReadTrace(bytes.NewReader(out.Bytes())); err != nil || !reflect.DeepEqual(again, requests) {
		t.Errorf("got %v, %v when the trace is read, want %v", again, err, requests)
	}
	return out.String(), problem.String(), fmt.Sprintf("%+v\n", s)
}

func plain(b []byte) io.Reader { return iotest.OneByteReader(bytes.NewReader(b)) }

func zipped(b []byte) io.Reader {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return &out
}

// TestRead reads the logs of testdata/mixed.txtar, plain and as gzip.
func TestRead(t *testing.T) {
	t.Parallel()
	const file = "testdata/mixed.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil || len(archive.Files) != 5 {
		t.Fatalf("got %v, %v, want two logs and what they become", archive, err)
	}
	for name, wrap := range map[string]func([]byte) io.Reader{"plain": plain, "gzip": zipped} {
		trace, problems, summary := read(t, archive.Files[:2], wrap)
		for i, got := range []string{trace, problems, summary} {
			f := &archive.Files[2+i]
			if *update {
				f.Data = []byte(got)
			}
			if got != string(f.Data) {
				t.Errorf("%s, %s: got\n%s\nwant\n%s", name, f.Name, got, f.Data)
			}
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadLong: a line without an end is somebody else's, and costs no memory.
func TestReadLong(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/mixed.txtar")
	if err != nil {
		t.Fatal(err)
	}
	r := tracelog.New(tracelog.Options{})
	long := strings.Repeat(`"prefix_blocks" `, 1<<18)
	log := io.MultiReader(bytes.NewReader(archive.Files[1].Data), strings.NewReader(long+"\n"), bytes.NewReader(archive.Files[1].Data), strings.NewReader(long))
	if err := r.Read("log", log); err != nil {
		t.Fatal(err)
	}
	if _, s := r.Trace(); s.Requests != 6 || s.Others != 2 || s.Malformed != 0 {
		t.Errorf("got %+v, want 6 requests and 2 other lines", s)
	}
}

func TestReadBroken(t *testing.T) {
	t.Parallel()
	r := tracelog.New(tracelog.Options{})
	if err := r.Read("a.gz", strings.NewReader("\x1f\x8bno gzip")); err == nil || !strings.HasPrefix(err.Error(), "a.gz: ") {
		t.Errorf("got %v, want an error about a.gz", err)
	}
	if err := r.Read("b.log", iotest.ErrReader(io.ErrClosedPipe)); err == nil || !strings.HasPrefix(err.Error(), "b.log: line 1: ") {
		t.Errorf("got %v, want an error about b.log", err)
	}
	if trace, s := r.Trace(); len(trace) != 0 || s.BlockTokens != 128 {
		t.Errorf("got %v and %+v of nothing, want nothing and 128 tokens for a block", trace, s)
	}
}

// TestTextOfChain: what a log has is read back.
func TestTextOfChain(t *testing.T) {
	t.Parallel()
	key := prefix.NewKey([]byte("salt"), "tenant", "model")
	for _, size := range []int{0, 511, 512, 5000, (prefix.MaxBlocks + 1) * prefix.BlockBytes} {
		chain := prefix.Of(key, make([]byte, size))
		got, err := prefix.ParseText(chain.Text())
		if err != nil || len(got) != len(chain) {
			t.Fatalf("got %d blocks, %v, want %d", len(got), err, len(chain))
		}
		for i := range got {
			if want := uint32(chain[i]); got[i] != want {
				t.Errorf("block %d: got %x, want %x", i, got[i], want)
			}
		}
	}
	if _, err := prefix.ParseText(strings.Repeat("A", 4*(4*prefix.MaxBlocks+4)/3)); err == nil {
		t.Error("got no error for more blocks than a chain has")
	}
}

// FuzzRead: whatever a log holds, what is made of it can be replayed.
func FuzzRead(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/mixed.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files[:2] {
		f.Add(file.Data)
		for line := range bytes.Lines(file.Data) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		r := tracelog.New(tracelog.Options{})
		if err := r.Read("log", bytes.NewReader(log)); err != nil {
			return
		}
		trace, s := r.Trace()
		if s.BlockTokens < 1 || len(trace) != s.Requests {
			t.Fatalf("got %d requests and %+v", len(trace), s)
		}
		if _, err := simulate.Run(trace, simulate.Options{Targets: 2, BlockTokens: s.BlockTokens}); err != nil {
			t.Fatal(err)
		}
	})
}
