package anthropic_test

import (
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/anthropic"
)

var update = flag.Bool("update", false, "write the expected parts of the golden files anew")

const (
	key   = "sk-ant-canary-0123456789abcdef"
	model = "claude-sonnet-4-5"
)

// transport answers requests without a network.
type transport func(r *http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering is a transport that gives one body to every request.
func answering(contentType string, body io.Reader) transport {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Body: io.NopCloser(body), Request: r,
			Header: http.Header{"Content-Type": {contentType}}, ContentLength: -1,
		}, nil
	}
}

// open makes a provider over a transport.
func open(tb testing.TB, t http.RoundTripper) *anthropic.Provider {
	tb.Helper()
	p, err := anthropic.New(anthropic.Config{Name: "test", APIKey: key, Transport: t})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func request(tb testing.TB, body string) *gateway.Request {
	tb.Helper()
	r, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

const (
	plainBody  = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	streamBody = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`
)

// drained is what a reply gave.
type drained struct {
	raw      string
	data     []string
	done     bool
	warnings string
	err      error
}

// drain reads a reply to its end, and checks what holds for every one.
func drain(tb testing.TB, reply gateway.Reply) drained {
	tb.Helper()
	var d drained
	var raw strings.Builder
	for {
		f, err := reply.Next()
		if err != nil {
			d.raw, d.err = raw.String(), err
			d.warnings = strings.Join(reply.(gateway.Warner).Warnings(), "\n")
			if _, again := reply.Next(); again != err {
				tb.Errorf("Next behind the end: got %v, want %v again", again, err)
			}
			return d
		}
		if d.done {
			tb.Errorf("got %q behind the end marker", f.Raw)
		}
		if f.Data != nil && !jsontext.Value(f.Data).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) {
			tb.Errorf("got the data %q, want JSON", f.Data)
		}
		if reply.Streamed() && f.Data != nil && string(f.Raw) != "data: "+string(f.Data)+"\n\n" {
			tb.Errorf("got the frame %q, want its data %q in one line", f.Raw, f.Data)
		}
		raw.Write(f.Raw)
		d.done = f.Done
		if f.Data != nil {
			d.data = append(d.data, string(f.Data))
		}
	}
}

// ask sends a request and reads the answer.
func ask(tb testing.TB, p *anthropic.Provider, body string) (drained, error) {
	tb.Helper()
	reply, err := p.Chat(tb.Context(), model, request(tb, body))
	if err != nil {
		return drained{}, err
	}
	defer reply.Close()
	d := drain(tb, reply)
	if d.err == io.EOF {
		return d, nil
	}
	return d, d.err
}

// golden is a file of testdata in the form of txtar, whose comment says what the case
// is about.
type golden struct {
	name string
	file string
	a    *txtar.Archive
}

func goldens(tb testing.TB, dir string) []golden {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("got %d files in testdata/%s, %v, want some", len(files), dir, err)
	}
	var all []golden
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, golden{strings.TrimSuffix(filepath.Base(file), ".txtar"), file, a})
	}
	return all
}

// part is a section of the file, empty if there is none.
func (g golden) part(name string) string {
	for _, f := range g.a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// want compares sections with what they should be; with -update it writes them.
func (g golden) want(t *testing.T, got ...txtar.File) {
	t.Helper()
	for _, f := range got {
		if len(f.Data) > 0 && f.Data[len(f.Data)-1] != '\n' {
			f.Data = append(f.Data, '\n')
		}
		if want := g.part(f.Name); !*update && string(f.Data) != want {
			t.Errorf("%s:\n got %s\nwant %s", f.Name, f.Data, want)
		}
	}
	if !*update {
		return
	}
	kept := txtar.Archive{Comment: g.a.Comment}
	for _, f := range g.a.Files {
		if !isIn(f.Name, got) {
			kept.Files = append(kept.Files, f)
		}
	}
	for _, f := range got {
		if len(f.Data) > 0 {
			kept.Files = append(kept.Files, f)
		}
	}
	if err := os.WriteFile(g.file, txtar.Format(&kept), 0o600); err != nil {
		t.Fatal(err)
	}
}

func isIn(name string, files []txtar.File) bool {
	for _, f := range files {
		if f.Name == name {
			return true
		}
	}
	return false
}

// pretty is JSON for people to read, its strings and numbers as they are.
func pretty(tb testing.TB, data string) []byte {
	tb.Helper()
	v := jsontext.Value(data)
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		tb.Fatalf("%v in %q", err, data)
	}
	return append(v, '\n')
}

var created = regexp.MustCompile(`"created":[0-9]+`)

// timeless replaces the time of an answer.
func timeless(s string) string { return created.ReplaceAllString(s, `"created":0`) }
