// Package folder keeps a plugin host in step with a directory: what is new there is
// loaded, what has changed takes over for new responses, and what is not fit is refused
// while the version before it stays.
package folder

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate/plugins"
)

// maxFile is the largest plugin that is read. The built-in one, with all parsers, has 3 MB.
const maxFile = 64 << 20

// interval is how often the directory is looked at. It takes some microseconds, and works on
// every file system: notifications do not come from volumes that others write to, and
// not of a directory that is not there yet.
const interval = 250 * time.Millisecond

// signature ends the name of the file with a plugin's minisign signature.
const signature = ".minisig"

// Host is what runs the plugins: a *plugins.Host.
type Host interface {
	Load(ctx context.Context, src plugins.Source) error
	Unload(name string, accept func(left []plugins.Info) error) (bool, error)
}

// Options are those of a Folder.
type Options struct {
	// Dir is the directory. It need not exist.
	Dir  string
	Host Host
	// Trust says whether a file may be loaded; signature is the text of its .minisig file,
	// or nil. With an error it is refused. Nil trusts all.
	Trust func(name string, wasm, signature []byte) error
	// Accept says whether the gateway could work with these parsers. With an error the
	// change is refused that would lead there. Nil accepts all.
	Accept func([]plugins.Info) error
	// Log may be nil.
	Log *slog.Logger
}

// State says what became of a file.
type State string

// The states of a file.
const (
	Loaded  State = "loaded"
	Refused State = "refused" // nothing of it is loaded
	Stale   State = "stale"   // the version before it is still loaded: this one is refused
	Kept    State = "kept"    // the file is gone, but a model needs its parsers
)

// File is a plugin of the directory.
type File struct {
	// Name is the path, as it names the plugin in the host.
	Name  string `json:"name"`
	State State  `json:"state"`
	// Reason says why it is not loaded; one line.
	Reason string `json:"reason,omitzero"`
	// SHA256 is that of what is loaded.
	SHA256 string    `json:"sha256,omitzero"`
	Since  time.Time `json:"since"` // of the state
}

// Folder is a directory of plugins. Its methods may be called from several goroutines.
type Folder struct {
	o     Options
	mu    sync.Mutex // of a scan
	files map[string]*file
	moves int    // counts what was loaded and unloaded
	blind string // why the directory could not be read the last time

	list sync.Mutex // of shown
	show []File
}

// file is what is known of a file.
type file struct {
	File
	seen stamp // what was looked at last, whatever came of it
	next stamp // what was there then: it is read when it is the same once more
}

// stamp tells versions of a file, and of its signature, apart without reading them. The
// signature's is nil if there is none.
type stamp struct{ plugin, signature fs.FileInfo }

func (s stamp) equal(o stamp) bool {
	return unchanged(s.plugin, o.plugin) && unchanged(s.signature, o.signature)
}

// unchanged also looks at which file it is: a clock's tick is long enough to replace one.
func unchanged(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// New makes a folder. Nothing is loaded yet.
func New(o Options) *Folder {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Trust == nil {
		o.Trust = func(string, []byte, []byte) error { return nil }
	}
	return &Folder{o: o, files: map[string]*file{}}
}

// Load loads all that is in the directory, when the gateway starts. The errors of all
// files that are refused are joined.
func (f *Folder) Load(ctx context.Context) error { return f.scan(ctx, true) }

// Watch keeps the host in step until ctx ends.
func (f *Folder) Watch(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.note(f.scan(ctx, false))
		}
	}
}

// note logs why the directory cannot be looked at, once. What is refused was logged already.
func (f *Folder) note(err error) {
	var blind *fs.PathError
	if !errors.As(err, &blind) {
		f.blind = ""
		return
	}
	if text := blind.Error(); text != f.blind {
		f.blind = text
		f.o.Log.Warn("the plugins directory cannot be read; what was loaded stays", "error", text)
	}
}

// Files lists the files that are or were in the directory, by name.
func (f *Folder) Files() []File {
	f.list.Lock()
	defer f.list.Unlock()
	return slices.Clone(f.show)
}

// scan looks at the directory once. A file that is being written is left until it has
// stayed the same for an interval, unless now is set.
func (f *Folder) scan(ctx context.Context, now bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, err := f.find()
	if err != nil {
		return err
	}
	var errs []error
	before := f.moves
	for _, name := range slices.Sorted(maps.Keys(found)) {
		k := f.files[name]
		if k == nil {
			k = &file{File: File{Name: name}}
			f.files[name] = k
		}
		at := found[name]
		if k.seen.equal(at) && k.State != Kept {
			continue
		}
		if now || k.next.equal(at) {
			if err := f.read(ctx, k, at); err != nil {
				errs = append(errs, err)
			}
		}
		k.next = at
	}
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		if _, there := found[name]; !there {
			f.gone(f.files[name])
		}
	}
	if f.moves != before {
		f.reconsider()
	}
	f.publish()
	return errors.Join(errs...)
}

// reconsider has what was refused tried once more: what was in its way may be gone.
func (f *Folder) reconsider() {
	for _, k := range f.files {
		if k.State != Loaded {
			k.seen = stamp{}
		}
	}
}

// find stamps the plugins of the directory.
func (f *Folder) find() (map[string]stamp, error) {
	entries, err := os.ReadDir(f.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("plugins.dir: %w", err)
	}
	found := map[string]stamp{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".wasm") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := filepath.Join(f.o.Dir, e.Name())
		info, err := os.Stat(name) // it may be a link, as Kubernetes makes them
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err // it is there: not to see it is no reason to unload it
		}
		if err != nil || !info.Mode().IsRegular() {
			continue // it went away meanwhile, or is no file
		}
		at := stamp{plugin: info}
		if sig, err := os.Stat(name + signature); err == nil {
			at.signature = sig
		}
		found[name] = at
	}
	return found, nil
}

// read loads a file that is new or has changed.
func (f *Folder) read(ctx context.Context, k *file, at stamp) error {
	k.seen = at
	wasm, err := readFile(k.Name, maxFile)
	if err != nil {
		return f.refuse(k, err)
	}
	var sig []byte
	if at.signature != nil {
		if sig, err = readFile(k.Name+signature, 4<<10); err != nil {
			return f.refuse(k, err)
		}
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(wasm))
	if err := f.o.Trust(k.Name, wasm, sig); err != nil {
		return f.refuse(k, &plugins.LoadError{Plugin: k.Name, Reason: "it is not trusted", Err: err})
	}
	if sum != k.SHA256 {
		err := f.o.Host.Load(ctx, plugins.Source{Name: k.Name, Wasm: wasm, Accept: f.o.Accept})
		if err != nil {
			return f.refuse(k, err)
		}
		f.moves++
	}
	k.set(Loaded, "")
	k.SHA256 = sum
	return nil
}

// refuse notes why a file is not loaded.
func (f *Folder) refuse(k *file, err error) error {
	state := Refused
	if k.SHA256 != "" {
		state = Stale
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	k.set(state, reason)
	f.o.Log.Warn("plugin refused", "plugin", k.Name, "reason", reason, "older_stays", state == Stale)
	return err
}

// gone takes out what is no longer there.
func (f *Folder) gone(k *file) {
	if k.SHA256 == "" {
		delete(f.files, k.Name)
		return
	}
	if _, err := f.o.Host.Unload(k.Name, f.o.Accept); err != nil {
		if k.State != Kept {
			f.o.Log.Warn("plugin kept, though its file is gone", "plugin", k.Name, "reason", err)
			k.set(Kept, "the file is gone: "+err.Error())
		}
		return
	}
	f.moves++
	delete(f.files, k.Name)
}

// publish makes what is known what Files shows.
func (f *Folder) publish() {
	show := make([]File, 0, len(f.files))
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		if k := f.files[name]; k.State != "" { // or it is only waited for
			show = append(show, k.File)
		}
	}
	f.list.Lock()
	defer f.list.Unlock()
	f.show = show
}

func (k *file) set(s State, reason string) {
	if k.State != s || k.Reason != reason {
		k.State, k.Reason, k.Since = s, reason, time.Now()
	}
}

// readFile reads a file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return data, err
}
