// Package folder keeps a plugin host in step with a directory: what is new there is
// loaded, what has changed takes over for new responses, and what is not fit is refused
// while the version before it stays.
package folder

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate/internal/plainfile"
	"github.com/callgate/callgate/plugins"
)

// maxSignature is the largest signature that is read, in bytes.
const maxSignature = 4 << 10

// interval is how often the directory is looked at. It takes some microseconds, and works on
// every file system: notifications do not come from volumes that others write to, and
// not of a directory that is not there yet.
const interval = 250 * time.Millisecond

// patience is how long a plugin waits, once it is ready, for those that stand before it and
// began to be loaded with it. Which of two gets the name of a parser that both have is then
// the same at every start, and one that takes long to compile does not keep the others out.
const patience = 5 * time.Second

// maxLoads is how many plugins are loaded at once, which is more than are compiled at once.
const maxLoads = 8

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
	Loaded    State = "loaded"
	Compiling State = "compiling" // it is being read, compiled and started; a version before it stays meanwhile
	Refused   State = "refused"   // nothing of it is loaded
	Stale     State = "stale"     // the version before it is still loaded: this one is refused
	Kept      State = "kept"      // the file is gone, but a model needs its parsers
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
	o        Options
	patience time.Duration

	mu    sync.Mutex // of all that follows
	files map[string]*file
	moved bool          // something was loaded or unloaded since the last scan
	blind string        // why the directory could not be read the last time
	loads int           // that have begun and not ended
	idle  chan struct{} // closed when there are none
	slots chan struct{} // holds one for each load that is under way
}

// file is what is known of a file.
type file struct {
	File
	seen   stamp  // what was looked at last, whatever came of it
	next   stamp  // what was there then: it is read when it is the same once more
	err    error  // why it is not loaded
	cancel func() // ends the load that is under way; nil: none is
	before File   // what was said before the load
	told   stamp  // what was there when a refusal was logged last
}

// stamp tells versions of a file, and of its signature, apart without reading them. The
// signature's is nil if there is none. Of what is there and cannot be looked at it has the
// reason.
type stamp struct {
	plugin, signature fs.FileInfo
	bad               string
}

func (s stamp) equal(o stamp) bool {
	return s.bad == o.bad && unchanged(s.plugin, o.plugin) && unchanged(s.signature, o.signature)
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
	idle := make(chan struct{})
	close(idle)
	return &Folder{o: o, patience: patience, files: map[string]*file{}, idle: idle, slots: make(chan struct{}, maxLoads)}
}

// Load loads all that is in the directory, when the gateway starts, and waits until that is
// done. The errors of all files that are refused are joined.
func (f *Folder) Load(ctx context.Context) error {
	if err := f.Begin(ctx); err != nil {
		return err
	}
	return f.Wait(ctx)
}

// Begin begins to load all that is in the directory. Wait is called before ctx ends, or when
// it has.
func (f *Folder) Begin(ctx context.Context) error { return f.scan(ctx, true) }

// Wait waits until nothing is being loaded any more, or ctx has ended. The errors of all files
// that are refused are joined, and ctx's own.
func (f *Folder) Wait(ctx context.Context) error {
	select {
	case <-f.over():
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		errs = append(errs, f.files[name].err)
	}
	return errors.Join(errs...)
}

// Watch keeps the host in step until ctx ends. When it returns, nothing is being loaded.
func (f *Folder) Watch(ctx context.Context) {
	defer func() { <-f.over() }() // loads bound themselves
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
	f.mu.Lock()
	defer f.mu.Unlock()
	show := make([]File, 0, len(f.files))
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		if k := f.files[name]; k.State != "" { // or it is only waited for
			show = append(show, k.File)
		}
	}
	return show
}

// scan looks at the directory once. A file that is being written is left until it has
// stayed the same for an interval, unless now is set. What is to be loaded is loaded in the
// background.
func (f *Folder) scan(ctx context.Context, now bool) error {
	found, err := f.find()
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.moved {
		f.moved = false
		f.reconsider()
	}
	free := make(chan struct{})
	close(free)
	first := turn{free, free}
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
			first = f.begin(ctx, k, at, first)
		}
		k.next = at
	}
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		if _, there := found[name]; !there {
			f.gone(f.files[name])
		}
	}
	return nil
}

// reconsider has what was refused because of others tried once more: what was in its way may
// be gone.
func (f *Folder) reconsider() {
	for _, k := range f.files {
		why, known := errors.AsType[*plugins.LoadError](k.err)
		if k.cancel == nil && (k.State == Kept || known && why.Others) {
			k.seen = stamp{}
		}
	}
}

// find stamps the plugins of the directory. Whatever is wrong with one of them, the others are
// found.
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
		at, err := stampOf(name)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(name); err != nil {
				continue // it went away meanwhile
			}
		}
		if err != nil { // it is there: not to see it is no reason to unload it
			at.bad = err.Error()
		}
		found[name] = at
	}
	return found, nil
}

// stampOf looks at a plugin and its signature. A link is what it leads to, as Kubernetes makes
// them.
func stampOf(name string) (at stamp, err error) {
	if at.plugin, err = os.Stat(name); err != nil {
		return stamp{}, err
	}
	at.signature, err = os.Stat(name + signature)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Lstat(name + signature)
		if errors.Is(err, fs.ErrNotExist) {
			return at, nil
		}
		return at, fmt.Errorf("%s leads to nothing", name+signature)
	}
	return at, err
}

// turn is when a plugin may be loaded: it begins after the one before it has begun, and takes
// over after that one has, or was refused.
type turn struct{ begun, done chan struct{} }

// begin loads a file that is new or has changed, in the background; a load of what was there
// before is given up. The result is the turn of the next one. The folder is locked.
func (f *Folder) begin(ctx context.Context, k *file, at stamp, t turn) turn {
	if k.cancel != nil {
		k.cancel() // the next scan finds it ended
		return t
	}
	ctx, k.cancel = context.WithCancel(ctx)
	k.seen, k.before = at, k.File
	k.set(Compiling, "")
	next, loaded := turn{make(chan struct{}), make(chan struct{})}, k.SHA256
	f.start(func() {
		defer close(next.done)
		<-t.begun // soon: loads bound themselves
		f.slots <- struct{}{}
		close(next.begun)
		sum, err := f.read(ctx, k.Name, at, loaded, t.done)
		<-f.slots
		f.settle(ctx, k, sum, err)
	})
	return next
}

// start has a load run in the background. It is no WaitGroup that counts them: those who have lost
// patience with it would wait on while the next load begins. The folder is locked.
func (f *Folder) start(load func()) {
	if f.loads++; f.loads == 1 {
		f.idle = make(chan struct{})
	}
	go func() { // ends with the load, which bounds itself
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.loads--; f.loads == 0 {
				close(f.idle)
			}
		}()
		load()
	}()
}

// over is closed when none of the loads is under way any more that are now.
func (f *Folder) over() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idle
}

// read loads a file, unless it is what is loaded already, and returns its hash.
func (f *Folder) read(ctx context.Context, name string, at stamp, loaded string, before <-chan struct{}) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if at.bad != "" {
		return "", errors.New(at.bad)
	}
	wasm, err := plainfile.Read(name, plugins.MaxModule)
	if err != nil {
		return "", err
	}
	var sig []byte
	if at.signature != nil {
		if sig, err = plainfile.Read(name+signature, maxSignature); err != nil {
			return "", err
		}
		if sig == nil {
			sig = []byte{} // an empty file is a signature that is not right, and not none
		}
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(wasm))
	if err := f.o.Trust(name, wasm, sig); err != nil {
		return "", &plugins.LoadError{Plugin: name, Reason: "it is not trusted", Err: err}
	}
	if sum == loaded {
		return sum, nil
	}
	late := time.NewTimer(f.patience)
	defer late.Stop()
	await := func(ctx context.Context) {
		select {
		case <-before:
		case <-late.C:
		case <-ctx.Done():
		}
	}
	return sum, f.o.Host.Load(ctx, plugins.Source{Name: name, Wasm: wasm, Accept: f.o.Accept, Await: await})
}

// settle notes what became of a load.
func (f *Folder) settle(ctx context.Context, k *file, sum string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	givenUp := ctx.Err() != nil
	k.cancel()
	k.cancel = nil
	switch {
	case err == nil:
		f.moved = f.moved || sum != k.SHA256
		k.err, k.SHA256 = nil, sum
		k.set(Loaded, "")
	case givenUp: // the file has changed or is gone, or the program ends
		k.seen = stamp{}
		k.File = k.before
	default:
		f.refuse(k, err)
	}
}

// refuse notes why a file is not loaded.
func (f *Folder) refuse(k *file, err error) {
	state := Refused
	if k.SHA256 != "" {
		state = Stale
	}
	if !strings.Contains(err.Error(), k.Name) {
		err = fmt.Errorf("plugin %s: %w", k.Name, err)
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	k.err = err
	k.set(state, reason)
	if k.before.State == state && k.before.Reason == reason && k.told.equal(k.seen) {
		return // it was tried once more, since others have changed
	}
	k.told = k.seen
	f.o.Log.Warn("plugin refused", "plugin", k.Name, "reason", reason, "older_stays", state == Stale)
}

// gone takes out what is no longer there.
func (f *Folder) gone(k *file) {
	if k.cancel != nil {
		k.cancel() // the next scan finds it ended
		return
	}
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
	f.moved = true
	delete(f.files, k.Name)
}

func (k *file) set(s State, reason string) {
	if k.State != s || k.Reason != reason {
		k.State, k.Reason, k.Since = s, reason, time.Now()
	}
}
