package simulate_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway/prefix/simulate"
)

func TestMalformed(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/malformed.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		name, ok := strings.CutSuffix(archive.Files[i].Name, "/trace")
		if !ok || archive.Files[i+1].Name != name+"/want" {
			t.Fatalf("got the files %q and %q, want a trace and a want", archive.Files[i].Name, archive.Files[i+1].Name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trace, err := simulate.ReadTrace(bytes.NewReader(archive.Files[i].Data))
			want := strings.TrimSpace(string(archive.Files[i+1].Data))
			if err == nil || err.Error() != want || trace != nil {
				t.Fatalf("got %v, %v, want nothing and %s", trace, err, want)
			}
			var wrong *simulate.TraceError
			if !errors.As(err, &wrong) || wrong.Line == 0 {
				t.Errorf("got %T, want a TraceError with a line", err)
			}
		})
	}
}

const small = `{"timestamp": 0, "input_length": 600, "output_length": 7, "hash_ids": [3, 4], "extra": {"a": 1}}

{"hash_ids": [], "output_length": 0, "input_length": 0, "timestamp": 27}
`

func TestReadTrace(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(w, small)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := simulate.Trace{
		{Input: 600, Output: 7, Blocks: []int64{3, 4}},
		{Timestamp: 27, Blocks: []int64{}},
	}
	for name, text := range map[string]string{
		"plain": small, "gzip": zipped.String(), "windows": strings.ReplaceAll(small, "\n", "\r\n"),
		"no last newline": strings.TrimSpace(small),
	} {
		got, err := simulate.ReadTrace(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
	if got, err := simulate.ReadTrace(strings.NewReader("")); len(got) != 0 || err != nil {
		t.Errorf("got %v, %v from an empty file, want nothing", got, err)
	}
	var written bytes.Buffer
	if err := simulate.WriteTrace(&written, want); err != nil {
		t.Fatal(err)
	}
	if got, err := simulate.ReadTrace(&written); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v of what was written, want %+v", got, err, want)
	}
}

// TestReadTraceBroken: errors that are not about a line's text.
func TestReadTraceBroken(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	if _, err := simulate.ReadTrace(io.MultiReader(strings.NewReader(small), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if _, err := simulate.ReadTrace(strings.NewReader("\x1f\x8bno gzip")); !errors.Is(err, gzip.ErrHeader) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want an error about gzip", err)
	}
	long := small + `{"timestamp": ` + strings.Repeat(" ", 17<<20) + "0}"
	_, err := simulate.ReadTrace(strings.NewReader(long))
	if want := "line 4: is longer than 16777216 bytes"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// FuzzReadTrace: what is read can be written, read again and replayed.
func FuzzReadTrace(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("{}\n"))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		trace, err := simulate.ReadTrace(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := simulate.WriteTrace(&b, trace); err != nil {
			t.Fatal(err)
		}
		again, err := simulate.ReadTrace(&b)
		if err != nil || len(again) != len(trace) || len(trace) > 0 && !reflect.DeepEqual(again, trace) {
			t.Fatalf("got %v, %v after writing, want %v", again, err, trace)
		}
		r, err := simulate.Run(trace, simulate.Options{Targets: 2})
		if err != nil || r.Requests != len(trace) {
			t.Fatalf("got %d requests answered, %v, want %d", r.Requests, err, len(trace))
		}
	})
}
