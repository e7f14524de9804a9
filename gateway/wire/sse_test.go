package wire_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/callgate/callgate/gateway/wire"
)

// block is a Block that can be compared and outlives the next call.
type block struct {
	raw, data string
	none, cut bool
}

func readAll(r *wire.Reader) ([]block, error) {
	var got []block
	for {
		b, err := r.Next()
		if err != nil {
			return got, err
		}
		got = append(got, block{string(b.Raw), string(b.Data), b.Data == nil, b.Cut})
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     []block
	}{
		{"empty", "", nil},
		{"lf", "data: a\n\ndata: b\n\n", []block{{raw: "data: a\n\n", data: "a"}, {raw: "data: b\n\n", data: "b"}}},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []block{{raw: "data: a\r\n\r\n", data: "a"}, {raw: "data: b\r\n\r\n", data: "b"}}},
		{"cr", "data: a\r\rdata: b\r\r", []block{{raw: "data: a\r\r", data: "a"}, {raw: "data: b\r\r", data: "b"}}},
		{"mixed", "data: a\n\r\ndata: b\r\n\ndata: c\r\n\rdata: d\n\n", []block{
			{raw: "data: a\n\r\n", data: "a"},
			{raw: "data: b\r\n\n", data: "b"},
			{raw: "data: c\r\n\r", data: "c"},
			{raw: "data: d\n\n", data: "d"},
		}},
		{"LF late behind a bare CR", "data: a\r\r\ndata: b\n\n", []block{{raw: "data: a\r\r", data: "a"}, {raw: "\ndata: b\n\n", data: "b"}}},
		{"byte order mark", "\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n", []block{
			{raw: "\xEF\xBB\xBFdata: a\n\n", data: "a"},
			{raw: "\xEF\xBB\xBFdata: b\n\n", none: true},
		}},
		{"no space", "data:a\n\n", []block{{raw: "data:a\n\n", data: "a"}}},
		{"two spaces", "data:  a\n\n", []block{{raw: "data:  a\n\n", data: " a"}}},
		{"empty data", "data\n\ndata:\n\n", []block{{raw: "data\n\n"}, {raw: "data:\n\n"}}},
		{"other fields", "event: x\nid: 1\ndata: a\nretry: 2\ndatas: b\n\n", []block{{raw: "event: x\nid: 1\ndata: a\nretry: 2\ndatas: b\n\n", data: "a"}}},
		{"comment", ": ping\n\n", []block{{raw: ": ping\n\n", none: true}}},
		{"blank lines", "\n\r\ndata: a\n\n", []block{{raw: "\n", none: true}, {raw: "\r\n", none: true}, {raw: "data: a\n\n", data: "a"}}},
		{"several data", ":c\ndata: a\r\ndata\rid: 1\ndata:b\n\n", []block{{raw: ":c\ndata: a\r\ndata\rid: 1\ndata:b\n\n", data: "a\n\nb"}}},
		{"no blank line", "data: a\n\ndata: b\n", []block{{raw: "data: a\n\n", data: "a"}, {raw: "data: b\n", data: "b", cut: true}}},
		{"no line end", "data: a", []block{{raw: "data: a", data: "a", cut: true}}},
		{"no line end, several", "data: a\ndata: b", []block{{raw: "data: a\ndata: b", data: "a\nb", cut: true}}},
		{"ends with CR", "data: a\r\n\r", []block{{raw: "data: a\r\n\r", data: "a"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, src := range map[string]io.Reader{
				"whole": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
				"error with data": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got, err := readAll(wire.NewReader(src, 0))
				if err != io.EOF {
					t.Errorf("%s: got error %v, want EOF", name, err)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("%s:\n got %+v\nwant %+v", name, got, tt.want)
				}
			}
		})
	}
}

func TestNextGivesABlockBeforeTheNextByte(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n", "\r"} {
		r, w := io.Pipe()
		reader := wire.NewReader(r, 0)
		for range 3 {
			want := "data: a" + end + end
			go io.WriteString(w, want)
			got, err := reader.Next() // would hang if it needed one byte more
			if err != nil || string(got.Raw) != want {
				t.Fatalf("got %q, %v, want %q", got.Raw, err, want)
			}
		}
	}
}

func TestNextError(t *testing.T) {
	t.Parallel()
	want := errors.New("reset")
	src := io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(want))
	got, err := readAll(wire.NewReader(src, 0))
	if err != want {
		t.Errorf("got error %v, want %v", err, want)
	}
	if len(got) != 1 || got[0].data != "a" {
		t.Errorf("got %+v, want the one whole block", got)
	}
}

func TestNextNoProgress(t *testing.T) {
	t.Parallel()
	if _, err := wire.NewReader(idle{}, 0).Next(); err != io.ErrNoProgress {
		t.Errorf("got %v, want %v", err, io.ErrNoProgress)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestLimit(t *testing.T) {
	t.Parallel()
	const limit = 100
	fits := "data: " + strings.Repeat("x", limit-8) + "\n\n"
	got, err := readAll(wire.NewReader(strings.NewReader(fits+fits), limit))
	if err != io.EOF || len(got) != 2 {
		t.Errorf("blocks of the limit: got %d and %v, want 2 and EOF", len(got), err)
	}
	_, err = readAll(wire.NewReader(strings.NewReader(fits+"x"+fits), limit))
	var long *wire.TooLongError
	if !errors.As(err, &long) || long.Limit != limit {
		t.Errorf("got %v, want a *TooLongError of %d", err, limit)
	}
}

func TestLargeBlocks(t *testing.T) {
	t.Parallel()
	large := "data: " + strings.Repeat("x", 10<<20) + "\n\n"
	in := "data: a\n\n" + large + "data: b\n\n" + large
	r := wire.NewReader(iotest.HalfReader(strings.NewReader(in)), 0)
	var raw strings.Builder
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		raw.Write(b.Raw)
	}
	if raw.String() != in {
		t.Errorf("got %d bytes that differ from the %d that came", raw.Len(), len(in))
	}
}

func TestBuffered(t *testing.T) {
	t.Parallel()
	first, second := "data: a\n\n", "data: b\ndata: c\n\n"
	r := wire.NewReader(io.MultiReader(strings.NewReader(first+second+"data: d"), strings.NewReader("\n\n")), 0)
	if r.Buffered() {
		t.Error("before the first read: got true, want false")
	}
	b, _ := r.Next()
	if got := r.Buffered(); !got {
		t.Errorf("second block is here: got %v, want true", got)
	}
	if got := string(b.Data); got != "a" {
		t.Errorf("Buffered changed the block that was given out: got %q, want %q", got, "a")
	}
	if b, _ = r.Next(); string(b.Data) != "b\nc" {
		t.Errorf("got %q, want %q", b.Data, "b\nc")
	}
	if got := r.Buffered(); got {
		t.Errorf("half a block is here: got %v, want false", got)
	}
	if b, _ = r.Next(); string(b.Data) != "d" {
		t.Errorf("got %q, want %q", b.Data, "d")
	}
}

// chunks gives an input in pieces whose lengths repeat.
type chunks struct {
	rest []byte
	cuts []byte
	n    int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(c.cuts) > 0 {
		n += int(c.cuts[c.n%len(c.cuts)])
	}
	c.n++
	n = copy(p, c.rest[:min(n, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}

// reference is the data of all events as the specification says, of a stream whose
// last line may lack its end.
func reference(in string) (events []string) {
	in = strings.TrimPrefix(in, "\xEF\xBB\xBF")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	var data []string
	for line := range strings.SplitSeq(in, "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "" && data != nil:
			events, data = append(events, strings.Join(data, "\n")), nil
		case name == "data":
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	if data != nil {
		events = append(events, strings.Join(data, "\n"))
	}
	return events
}

func FuzzNext(f *testing.F) {
	f.Add([]byte("data: a\n\ndata: b\r\n\r\n: c\r\r"), []byte{0})
	f.Add([]byte("\xEF\xBB\xBFdata: a\ndata:b\r\r\nid: 1\r\ndata\n\r\n"), []byte{2, 0, 5})
	f.Add([]byte("\r\r\n\r\n\n\rdata\r"), []byte{1})
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		want, _ := readAll(wire.NewReader(bytes.NewReader(in), 0))
		got, err := readAll(wire.NewReader(&chunks{rest: in, cuts: cuts}, 0))
		if err != io.EOF || !slices.Equal(got, want) {
			t.Fatalf("cut by %v: %v\n got %+v\nwant %+v", cuts, err, got, want)
		}
		var raw strings.Builder
		var data []string
		for _, b := range got {
			raw.WriteString(b.raw)
			if !b.none {
				data = append(data, b.data)
			}
		}
		if raw.String() != string(in) {
			t.Fatalf("joined raw\n got %q\nwant %q", raw.String(), in)
		}
		if got, want := strings.Join(data, "\x00"), strings.Join(reference(string(in)), "\x00"); got != want {
			t.Fatalf("data\n got %q\nwant %q", got, want)
		}
	})
}

// endless repeats a stream.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

func BenchmarkNext(b *testing.B) {
	chunk := `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}`
	for _, bb := range []struct{ name, block string }{
		{"lf", "data: " + chunk + "\n\n"},
		{"crlf", "data: " + chunk + "\r\n\r\n"},
		{"event", "event: message\nid: 1\ndata: " + chunk + "\n\n"},
		{"64KiB", "data: " + strings.Repeat("x", 64<<10) + "\n\n"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			r := wire.NewReader(&endless{text: bb.block}, 0)
			b.SetBytes(int64(len(bb.block)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
				r.Buffered()
			}
		})
	}
}

// counted counts the reads of a source that fills all the room it is given.
type counted struct {
	src   io.Reader
	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return io.ReadFull(c.src, p)
}

// TestFastStream holds that a stream that comes faster than it is read takes few reads, wherever its
// blocks are cut by them.
func TestFastStream(t *testing.T) {
	t.Parallel()
	const block = "data: {\"n\":1}\n\n"
	src := &counted{src: strings.NewReader(strings.Repeat(block, 64<<10/len(block)))}
	got, err := readAll(wire.NewReader(src, 0))
	if err != nil && err != io.ErrUnexpectedEOF || len(got) == 0 {
		t.Fatalf("got %d blocks, %v", len(got), err)
	}
	if src.reads > 7 {
		t.Errorf("got 64 KiB in %d reads, want those of 4 and of 16 KiB", src.reads)
	}
}
