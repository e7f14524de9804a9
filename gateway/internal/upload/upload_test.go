package upload

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"strings"
	"testing"
)

// FuzzField compares with the reader of the standard library, which does not say where a field
// stands.
func FuzzField(f *testing.F) {
	for _, body := range []string{
		"--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b--\r\n",
		"pre\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"model\"\r\n\r\n\r\n--bc\r\n--b\r\nContent-Disposition: form-data; name=model\r\n\r\n\r\n--b--",
		"--b \r\nContent-Disposition: form-data; name=\"model\"\r\nX: y\r\n\r\n--b--\r\n",
		"--b--\r\n", "--b\r\n\r\nx\r\n--b--",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read(bytes.NewReader(data), 1<<20, Room{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		value, at, err := b.Field("b", "model")
		if err != nil || value == "" { // the client is told so: a line end alone is none here
			return
		}
		var want []string
		for r := multipart.NewReader(bytes.NewReader(data), "b"); ; {
			part, err := r.NextRawPart()
			if err == io.EOF {
				break
			}
			if err != nil {
				return // it is stricter about what follows the last boundary and the like
			}
			text, err := io.ReadAll(part)
			if err != nil {
				return
			}
			if part.FormName() == "model" && !strings.Contains(strings.ToLower(part.Header.Get("Content-Disposition")), "filename") {
				want = append(want, string(text))
			}
		}
		if len(want) != 1 || value != want[0] {
			t.Errorf("got %q, want %q of %q", value, want, data)
		}
		if string(data[at.Start:at.End]) != value {
			t.Errorf("the field is not at %v", at)
		}
	})
}

// TestRead holds that a body comes out as it went in, across the border of memory and file, and
// that its limit holds.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, memory - 1, memory, memory + 1, 3*memory + 7} {
		data := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		b, err := Read(bytes.NewReader(data), int64(size), Room{})
		if err != nil {
			t.Fatal(err)
		}
		at := Span{int64(size / 3), int64(size / 2)}
		r, n := b.Open(at, []byte("xyz"))
		got, err := io.ReadAll(r)
		if want := string(data[:at.Start]) + "xyz" + string(data[at.End:]); err != nil || string(got) != want || n != int64(len(want)) {
			t.Errorf("%d bytes: got %d and %v, want them with three others", size, len(got), err)
		}
		b.Close()
		if size > 0 {
			if _, err := Read(bytes.NewReader(data), int64(size-1), Room{}); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%d bytes: got %v, want ErrTooLarge", size, err)
			}
		}
	}
}

// TestFieldAcrossPieces holds that a boundary is found wherever the pieces meet in which a body
// is read.
func TestFieldAcrossPieces(t *testing.T) {
	t.Parallel()
	for size := 64<<10 - 300; size < 64<<10+20; size++ {
		text := "--b\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\n" + strings.Repeat("\r\n--c", size/5) + strings.Repeat("x", size%5) +
			"\r\n--b\r\nContent-Disposition: form-data; name=model\r\n\r\nmine\r\n--b--\r\n"
		b, err := Read(strings.NewReader(text), 1<<20, Room{})
		if err != nil {
			t.Fatal(err)
		}
		if value, at, err := b.Field("b", "model"); err != nil || value != "mine" || text[at.Start:at.End] != "mine" {
			t.Fatalf("%d: got %q at %v, %v", size, value, at, err)
		}
	}
}

// TestFieldInTwoWays has parts of which some servers think that they are the field, and others not, beside the field
// itself: the upstream could serve another model than the one that was judged. What only is odd passes.
func TestFieldInTwoWays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		head string
		ok   bool
	}{
		{`Content-Disposition: form-data; name="x"; name="model"`, false},
		{`Content-Disposition: form-data; name="model"; name="x"`, false},
		{`Content-Disposition: form-data; name="model"; name*=utf-8''x`, false},
		{`Content-Disposition: form-data; name*0="mo"; name*1="del"`, false},
		{`Content-Disposition: form-data; name="model"; x`, false},
		{`Content-Disposition: attachment; name="model"`, false},
		{`Content-Disposition: form-data; name="model"; filename*=utf-8''x`, false},
		{`Content-Disposition: form-data; name="file"; filename=my file; name=model`, false},
		{"Content-Disposition: form-data; name=\"x\"\r\nContent-Disposition: form-data; name=\"model\"", false},
		{`Content-Disposition: form-data; name="file"; filename=my file.mp3`, true},
		{`Content-Disposition: form-data; name=file; filename=é.mp3`, true},
		{`Content-Disposition: form-data; name="file"; filename="a.mp3"; filename*=utf-8''%c3%a9.mp3`, true},
		{`Content-Disposition: attachment; filename="a"`, true},
		{`Content-Type: text/plain`, true},
	} {
		for _, text := range []string{
			"--b\r\nContent-Disposition: form-data; name=model\r\n\r\nmine\r\n--b\r\n" + c.head + "\r\n\r\nother\r\n--b--\r\n",
			"--b\r\n" + c.head + "\r\n\r\nother\r\n--b\r\nContent-Disposition: form-data; name=model\r\n\r\nmine\r\n--b--\r\n",
		} {
			b, err := Read(strings.NewReader(text), 1<<20, Room{})
			if err != nil {
				t.Fatal(err)
			}
			if value, _, err := b.Field("b", "model"); (err == nil) != c.ok || c.ok && value != "mine" {
				t.Errorf("%s: got %q, %v", c.head, value, err)
			}
		}
	}
}
