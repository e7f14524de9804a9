package flow_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway"
)

var update = flag.Bool("update", false, "write what the golden files of testdata/native should be")

// nativeCase is a file of testdata/native: what an upstream sends, and what a client
// gets, streamed and whole. README.md there says what the parts are.
type nativeCase struct {
	file    string
	archive *txtar.Archive
	target  gateway.Target
	needs   gateway.Needs
}

var nativeFields = map[string]func(c *nativeCase, value string) bool{
	"mode": func(c *nativeCase, v string) (ok bool) {
		c.target.Mode, ok = map[string]gateway.Mode{"off": gateway.Off, "report": gateway.Report}[v]
		return ok
	},
	"policy": func(c *nativeCase, v string) (ok bool) {
		c.target.OnInvalid, ok = map[string]gateway.InvalidPolicy{"reject": gateway.RejectInvalid, "reask": gateway.ReaskInvalid}[v]
		return ok
	},
	"doubt": func(c *nativeCase, v string) (ok bool) {
		c.target.OnDoubt, ok = map[string]gateway.DoubtPolicy{"off": gateway.PassDoubt, "refuse": gateway.RefuseDoubt}[v]
		return ok
	},
	"ids": func(c *nativeCase, v string) bool {
		c.needs.IDs = gateway.KimiID
		return v == "kimi"
	},
	"parser": func(c *nativeCase, v string) bool {
		c.target.Parsers.Names = []string{v}
		return true
	},
}

func readNative(t *testing.T, file string) *nativeCase {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &nativeCase{file: file, archive: archive, target: gateway.Target{Mode: gateway.Repair}}
	for i, line := range strings.Split(strings.TrimSpace(string(archive.Comment)), "\n") {
		name, value, _ := strings.Cut(line, ": ")
		if set := nativeFields[name]; i > 0 && (set == nil || !set(c, value)) {
			t.Fatalf("%s: %q is no field", file, line)
		}
	}
	return c
}

// part is a file of the case, or nil.
func (c *nativeCase) part(name string) []byte {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// check compares a file of the case with what it should be, or writes it.
func (c *nativeCase) check(t *testing.T, name, got string) {
	t.Helper()
	got = strings.TrimRight(got, "\n") + "\n"
	want := string(c.part(name))
	if want == got {
		return
	}
	if !*update {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		return
	}
	for i, f := range c.archive.Files {
		if f.Name == name {
			c.archive.Files[i].Data = []byte(got)
			return
		}
	}
	c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: []byte(got)})
}

// needy is a provider whose upstream demands something of the conversation.
type needy struct {
	*scripted
	needs gateway.Needs
}

func (n needy) Needs() gateway.Needs { return n.needs }

var freshID = regexp.MustCompile(`call_[A-Z2-7]{24}`)

// withFreshIDs gives the random ids of calls names: call_new_1 and so on.
func withFreshIDs(s string) string {
	known := map[string]string{}
	return freshID.ReplaceAllStringFunc(s, func(id string) string {
		if known[id] == "" {
			known[id] = fmt.Sprintf("call_new_%d", len(known)+1)
		}
		return known[id]
	})
}

// account says what was done about an answer.
func account(resp *gateway.Response, err error) string {
	var b strings.Builder
	s := resp.Summary
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		fmt.Fprintf(&b, "error: %s %s %s\nmessage: %s\n", e.CodeOrDefault(), cmp.Or(fmt.Sprint(e.HTTPStatus()), "-"), e.Param, e.Message)
		if e.Summary != nil { // nothing came of it
			s = e.Summary
		}
	}
	fmt.Fprintf(&b, "faults: %s\nrepairs: %s\nwarnings: %s\nchanged: %t\n", s.FaultList(), s.RepairList(), strings.Join(s.Warnings, ","), s.Changed)
	return strings.ReplaceAll(b.String(), ": \n", ":\n")
}

func (c *nativeCase) run(t *testing.T, s *scripted, kind string) string {
	t.Helper()
	request := c.part("request.json")
	if request == nil {
		var err error
		if request, err = os.ReadFile("testdata/native/request.json"); err != nil {
			t.Fatal(err)
		}
	}
	body := bytes.Replace(bytes.TrimSpace(request), []byte("{"), fmt.Appendf(nil, `{"model":"m","stream":%t,`, !s.whole), 1)
	out, resp, err := exchange(t, needy{s, c.needs}, c.target, string(body))
	c.check(t, "want/"+kind, withFreshIDs(out))
	told := account(resp, err)
	if err != nil {
		c.check(t, "want/"+kind+".account", told)
		return ""
	}
	read := readStream
	if s.whole {
		read = readWhole
	}
	a := read(t, out)
	for _, fault := range a.formFaults() {
		told += "clients: " + fault + "\n"
	}
	c.check(t, "want/"+kind+".account", told)
	if c.target.Mode != gateway.Repair {
		if got := strings.TrimSpace(withoutComments(out)); got != strings.TrimSpace(s.raw()) {
			t.Errorf("%s is changed: %s", kind, got)
		}
		return ""
	}
	return a.String()
}

func withoutComments(stream string) string {
	var b strings.Builder
	for block := range strings.SplitAfterSeq(stream, "\n\n") {
		if !strings.HasPrefix(block, ": callgate") {
			b.WriteString(block)
		}
	}
	return b.String()
}

// TestNative compares what clients get for the calls of upstreams with golden files,
// and what it means, which is the same however it comes.
func TestNative(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/native/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			c := readNative(t, file)
			var meaning string
			if in := c.part("upstream.sse"); in != nil {
				blocks := strings.Split(strings.TrimRight(string(in), "\n"), "\n\n")
				meaning = c.run(t, &scripted{blocks: blocks}, "client.sse")
			}
			if in := c.part("upstream.json"); in != nil {
				whole := c.run(t, &scripted{whole: true, blocks: []string{strings.TrimSpace(string(in))}}, "client.json")
				if meaning != "" && c.part("want/differs") == nil && withFreshIDs(whole) != withFreshIDs(meaning) {
					t.Errorf("streamed and whole differ: got\n%s\nand\n%s", withFreshIDs(meaning), withFreshIDs(whole))
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(c.archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
