package catalogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/callgate/callgate/gateway/toolserver"
)

// Change is what is different between the pins and what the servers have now.
type Change struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	What   string `json:"what"` // new, changed or gone
	Diff   string `json:"diff"`
}

// Diff is what callgate tools pin would change, sorted by server and tool. Servers that do not
// answer are left out.
func (c *Catalogue) Diff() []Change {
	var out []Change
	for _, name := range c.names {
		out = append(out, c.changes(c.servers[name])...)
	}
	return out
}

func (c *Catalogue) changes(s *server) []Change {
	listing, _ := s.known()
	if listing == nil || s.o.Own {
		return nil
	}
	pins := c.locks.of(s.name)
	if pins == nil {
		pins = &pinned{}
	}
	var out []Change
	seen := map[string]int{}
	for _, t := range s.made(listing) {
		seen[t.Name]++
		what := "changed"
		switch was := pins.tools[t.Name]; {
		case was == nil:
			what = "new"
		case was.SHA256 == t.hash:
			continue
		}
		out = append(out, Change{s.name, t.Name, what, pins.diff(t)})
	}
	for _, name := range pins.gone(seen) {
		out = append(out, Change{s.name, name, "gone", between(name, readable(pins.tools[name].Definition), "")})
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Tool, b.Tool) })
	return out
}

// Pin writes what the named servers have now into the lock file, all servers if none is named.
// Pins of others stay. It gives how many tools it has pinned. Servers that do not answer are an
// error, as are names of none; nothing is written then.
func (c *Catalogue) Pin(servers []string) (int, error) {
	if c.o.Lock == "" {
		return 0, errors.New("there is no lock file: tool_pins is off")
	}
	file, err := readLock(c.o.Lock)
	if err != nil {
		return 0, err
	}
	if file == nil {
		file = &lockFile{}
	}
	file.Version = lockVersion
	if file.Servers == nil {
		file.Servers = map[string]*pinnedBy{}
	}
	if len(servers) == 0 {
		servers = c.names
		maps.DeleteFunc(file.Servers, func(name string, _ *pinnedBy) bool { return c.servers[name] == nil })
	}
	count := 0
	for _, name := range servers {
		s := c.servers[name]
		if s == nil {
			return 0, fmt.Errorf("there is no tool server %q in the configuration", name)
		}
		if s.o.Own {
			continue
		}
		pins, err := s.pins()
		if err != nil {
			return 0, err
		}
		file.Servers[name] = pins
		count += len(pins.Tools)
	}
	if err := writeLock(c.o.Lock, file); err != nil {
		return 0, err
	}
	_, err = c.locks.reload()
	c.rebuild()
	return count, err
}

// pins are those of what the server has now.
func (s *server) pins() (*pinnedBy, error) {
	listing, problem := s.known()
	if listing == nil {
		if problem != nil {
			return nil, problem
		}
		return nil, fmt.Errorf("tool server %q has not answered", s.name)
	}
	out := &pinnedBy{Tools: map[string]*pin{}}
	seen := map[string]int{}
	for _, t := range s.made(listing) {
		seen[t.Name]++
		if t.why == "" && t.hash != "" {
			out.Tools[t.Name] = &pin{SHA256: t.hash, Definition: t.definition}
		}
	}
	for name, n := range seen {
		if n > 1 {
			delete(out.Tools, name) // nobody can tell which
		}
	}
	out.Set = setHash(out.Tools)
	return out, nil
}

// diff is what is different about a tool, in lines; all of it if it is new.
func (p *pinned) diff(t *tool) string {
	was := ""
	if old := p.tools[t.Name]; old != nil {
		was = readable(old.Definition)
	}
	return between(t.Name, was, readable(t.definition))
}

func between(name, was, now string) string {
	text := string(diff.Diff("pinned "+name, []byte(was), "now "+name, []byte(now)))
	_, text, _ = strings.Cut(text, "\n") // the command line of diff
	return text
}

// readable is a definition for eyes: a line for each line of a description, and every character
// that cannot be seen written out, since that is what a change may hide in.
func readable(d toolserver.Definition) string {
	var b strings.Builder
	part := func(name, text string) {
		if text == "" {
			return
		}
		fmt.Fprintf(&b, "%s:\n", name)
		for line := range strings.SplitSeq(text, "\n") {
			fmt.Fprintf(&b, "  %s\n", shown(line))
		}
	}
	part("title", d.Title)
	part("description", d.Description)
	for _, raw := range []struct {
		name string
		json json.RawMessage
	}{{"arguments", d.Parameters}, {"result", d.Output}, {"annotations", d.Annotations}} {
		text, err := canonicalise(raw.json)
		if len(raw.json) == 0 || err != nil {
			part(raw.name, string(raw.json))
			continue
		}
		var indented bytes.Buffer
		_ = json.Indent(&indented, text, "", "  ") // it is canonical
		part(raw.name, indented.String())
	}
	return b.String()
}

// shown is a line with what cannot be seen written as U+ and its number.
func shown(line string) string {
	var b strings.Builder
	for _, r := range line {
		if r == '\t' || r == ' ' || unicode.IsPrint(r) && visible(string(r)) != "" {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// mentions says that text has name as a word.
func mentions(text, name string) bool {
	for {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		if (before == "" || !wordByte(before[len(before)-1])) && (after == "" || !wordByte(after[0])) {
			return true
		}
		text = after
	}
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
