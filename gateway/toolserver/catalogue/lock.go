package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/internal/digest"
	"github.com/callgate/callgate/internal/wholefile"
)

const (
	lockVersion = 1
	maxLock     = 64 << 20
	watchTime   = 5 * time.Second
)

var errNoJSON = errors.New("it is no JSON")

// lockFile is the file of pins. It holds the definitions and not only their hashes, so that it
// can be read in a review, and a change can be shown.
type lockFile struct {
	Version int                  `json:"version"`
	Servers map[string]*pinnedBy `json:"servers"`
}

// pinnedBy are the pins of one server. Set is the hash of all of them together, so that one
// more, one less or another name is a change too.
type pinnedBy struct {
	Set   string          `json:"set"`
	Tools map[string]*pin `json:"tools"`
}

type pin struct {
	SHA256     string                `json:"sha256"`
	Definition toolserver.Definition `json:"definition"`
}

// hash is the SHA-256 of a definition in canonical form.
func hash(d toolserver.Definition) (string, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	text, err = canonicalise(text)
	if err != nil {
		return "", err
	}
	return digest.Of(text), nil
}

// setHash is the hash of names and hashes together.
func setHash(tools map[string]*pin) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		text, _ := json.Marshal(name)
		fmt.Fprintf(&b, "%s %s\n", text, tools[name].SHA256)
	}
	return digest.Of([]byte(b.String()))
}

// readLock reads and checks a file of pins; nil if there is none.
func readLock(path string) (*lockFile, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(text) > maxLock:
		return nil, fmt.Errorf("%s: the file is larger than %d bytes", path, maxLock)
	}
	var f lockFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w; delete it, and write it anew with callgate tools pin", path, err)
	}
	if f.Version != lockVersion {
		return nil, fmt.Errorf("%s: version %d is not known; delete it, and write it anew with callgate tools pin", path, f.Version)
	}
	for name, s := range f.Servers {
		if s == nil {
			return nil, fmt.Errorf("%s: server %q has no pins; delete it, and write it anew with callgate tools pin", path, name)
		}
		for tool, p := range s.Tools {
			if p == nil {
				return nil, fmt.Errorf("%s: the pin of %q of server %q is empty; delete it, and write it anew with callgate tools pin", path, tool, name)
			}
			if own, err := hash(p.Definition); err != nil || own != p.SHA256 || p.Definition.Name != tool {
				return nil, fmt.Errorf("%s: the pin of %q of server %q does not fit its definition; delete it, and write it anew with callgate tools pin", path, tool, name)
			}
		}
		if setHash(s.Tools) != s.Set {
			return nil, fmt.Errorf("%s: the set of server %q does not fit its tools; delete it, and write it anew with callgate tools pin", path, name)
		}
	}
	return &f, nil
}

// writeLock replaces the file of pins at once.
func writeLock(path string, f *lockFile) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return err
	}
	return wholefile.Write(path, out.Bytes(), 0o755, 0o644)
}

// locks are the pins as they were read last.
type locks struct {
	path string
	mu   sync.Mutex
	file *lockFile // nil: nothing is pinned
	seen time.Time // of the file
}

func openLocks(path string) (*locks, error) {
	l := &locks{path: path}
	if path == "" {
		return l, nil
	}
	l.seen = modified(path)
	var err error
	l.file, err = readLock(path)
	return l, err
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// reload reads a file that has changed. One that is gone or broken changes nothing: pins are
// not taken off by accident.
func (l *locks) reload() (changed bool, err error) {
	at := modified(l.path)
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.Equal(l.seen) {
		return false, nil
	}
	l.seen = at
	file, err := readLock(l.path)
	switch {
	case err != nil:
		return false, fmt.Errorf("the pins stay as they were: %w", err)
	case file == nil:
		return false, fmt.Errorf("the pins stay as they were: %s is gone; restart the gateway if that is meant", l.path)
	}
	l.file = file
	return true, nil
}

// watch takes over a new file of pins.
func (c *Catalogue) watch(ctx context.Context) {
	tick := time.NewTicker(watchTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, err := c.locks.reload()
		if err != nil {
			c.log.Warn("tool pins", "error", err)
		}
		if changed {
			c.log.Info("tool pins: read anew", "file", c.o.Lock)
			c.rebuild()
		}
	}
}

// pinned are the pins of a server; nil if nothing is pinned at all.
type pinned struct{ tools map[string]*pin }

func (l *locks) of(server string) *pinned {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	if s := l.file.Servers[server]; s != nil {
		return &pinned{s.Tools}
	}
	return &pinned{}
}

// differs says why a tool is in quarantine, "" if it is not.
func (p *pinned) differs(t *tool) string {
	if p == nil {
		return ""
	}
	switch was := p.tools[t.Name]; {
	case t.hash == "":
		return "It is in quarantine: its definition is no proper JSON."
	case was == nil:
		return "It is in quarantine: it was not there when the server's tools were pinned. An operator must agree with callgate tools pin."
	case was.SHA256 != t.hash:
		return "It is in quarantine: it has changed since it was pinned. An operator must agree with callgate tools pin."
	}
	return ""
}

// gone are the pinned tools that a server has no more.
func (p *pinned) gone(seen map[string]int) []string {
	if p == nil {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.tools)) {
		if seen[name] == 0 {
			out = append(out, name)
		}
	}
	return out
}
