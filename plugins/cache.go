package plugins

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/cpu"

	"github.com/callgate/callgate/internal/plainfile"
)

// codeStore keeps compiled code in a directory, one directory for each module:
//
//	code-LIBRARY/MODULE/LIBRARY/KEY   what wazero wrote
//	code-LIBRARY/MODULE/sum           a hash over it, see sealed
//
// LIBRARY is wazero's version and the machine's kind, and MODULE is a hash of the module. wazero
// checks the machine code that it reads, but none of the numbers and tables around it, by which
// it allocates memory and jumps. So the hash is checked first, and an entry that is not whole is
// thrown away. A directory comes into its place by a rename: a crash leaves none that is half
// written, but for what the file system loses, which the hash finds.
type codeStore struct {
	dir      string // "": nothing is kept
	library  string
	compiler compiler
	log      *slog.Logger
}

// Bounds on what is kept.
const (
	maxKept   = 1024      // modules; those go that were not used for the longest time
	keptBytes = 2 << 30   // of their code, but for the one that was made last
	staleTime = time.Hour // after which a compiler's directory is that of a process that crashed
)

// The names in the directory.
const (
	keptPrefix    = "code-"
	stagingPrefix = "compiling-"
	sumFile       = "sum"
)

func openStore(cfg *Config) (*codeStore, error) {
	s := &codeStore{dir: cfg.CacheDir, log: cfg.Log, compiler: newCompiler(cfg)}
	if s.dir == "" {
		return s, nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		s.forgo(err)
		return s, nil
	}
	info, err := os.Stat(s.dir)
	if err != nil {
		return nil, err
	}
	if !private(info) {
		return nil, fmt.Errorf("cache directory %s must belong to this user and be writable by nobody else (it is %s): it holds code that is run",
			s.dir, info.Mode())
	}
	s.clean()
	if s.library, err = libraryName(s.dir); err != nil {
		s.forgo(err)
	}
	return s, nil
}

// forgo goes on without a directory that cannot be written to: every start compiles.
func (s *codeStore) forgo(err error) {
	s.log.Warn("compiled code cannot be cached", "dir", s.dir, "error", err)
	s.dir = ""
}

// libraryName is the name that wazero gives to its directory, found out by letting it make one.
func libraryName(dir string) (string, error) {
	tmp, err := os.MkdirTemp(dir, stagingPrefix)
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if _, err := openLibrary(tmp); err != nil {
		return "", err
	}
	return only(tmp)
}

// opening guards wazero's opening of a cache, which remembers the library's version in
// a variable without a lock.
var opening sync.Mutex //nolint:gochecknoglobals // it is about a global of the library's

func openLibrary(dir string) (wazero.CompilationCache, error) {
	opening.Lock()
	defer opening.Unlock()
	return wazero.NewCompilationCacheWithDir(dir)
}

// clean removes what a process left that was killed while it compiled.
func (s *codeStore) clean() {
	entries, _ := os.ReadDir(s.dir) // one that cannot be read is noticed when code is kept there
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), stagingPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleTime {
			_ = os.RemoveAll(filepath.Join(s.dir, e.Name()))
		}
	}
}

// code is where the compiled code of one module comes from.
type code struct {
	store   *codeStore
	cache   wazero.CompilationCache
	from    string // CodeKept and the like
	entry   string // where it is kept, or will be; "": nowhere
	staging string // where it is until then, or this process's links to it; "": nowhere
	id      string
}

// Where the code of a module is from (ModuleInfo.Code).
const (
	CodeKept    = "cache"   // it was compiled before
	CodeChild   = "child"   // a process of its own has compiled it
	CodeProcess = "process" // this process has compiled it
	CodeShared  = "shared"  // another host of this process has it, and nothing was done
)

// open finds the code of a module, or has it compiled by a process of its own. What is trusted
// is left to this process, and so is everything where there is no such process: compile does it.
func (s *codeStore) open(ctx context.Context, wasm []byte, trusted bool) (*code, error) {
	c := &code{store: s, from: CodeKept, id: moduleID(wasm)}
	if s.dir != "" {
		c.entry = filepath.Join(s.dir, keptPrefix+s.library, c.id)
		dir, err := c.borrow()
		if err == nil {
			_ = os.Chtimes(c.entry, time.Time{}, time.Now()) // see prune
			if c.cache, err = openLibrary(dir); err != nil {
				c.discard()
			}
			return c, err
		} else if exists(c.entry) {
			s.log.Warn("compiled code in the cache is damaged; it is thrown away and compiled again", "entry", c.entry, "reason", err)
			s.drop(c.entry)
		}
	}
	c.from = CodeProcess
	inChild := !trusted && s.compiler.command != nil
	parent := s.dir
	if parent == "" && !inChild {
		c.cache = wazero.NewCompilationCache()
		return c, nil
	}
	var err error
	if c.staging, err = os.MkdirTemp(parent, stagingPrefix); err != nil { // "" is the system's own directory for such
		s.log.Warn("compiled code cannot be cached", "dir", parent, "error", err)
		c.staging, err = os.MkdirTemp("", stagingPrefix)
		c.entry = ""
	}
	if err != nil {
		s.log.Warn("there is no directory to compile in, so this process compiles a plugin itself", "error", err)
		c.cache = wazero.NewCompilationCache()
		return c, nil
	}
	if inChild {
		c.from = CodeChild
		if err = s.compiler.run(ctx, wasm, c.staging); err == nil {
			err = s.made(c.staging)
		}
	}
	if err == nil {
		c.cache, err = openLibrary(c.staging)
	}
	if err != nil {
		c.discard()
		return nil, err
	}
	return c, nil
}

// borrow checks the entry, and returns the directory that it is to be read from: one of this process's own, with
// links to the files. Another process that prunes the cache meanwhile, or throws the entry away, does not
// take them from there; wazero would then compile in this process, whoever the module is from. Where the
// file system has no links, it is the entry itself.
func (c *code) borrow() (dir string, err error) {
	if !exists(c.entry) {
		return "", fs.ErrNotExist
	}
	dir = c.entry
	if own, err := os.MkdirTemp(c.store.dir, stagingPrefix); err == nil {
		c.staging, dir = own, own
		err := link(c.entry, own)
		if e, ok := errors.AsType[*os.LinkError](err); ok && !errors.Is(e, fs.ErrNotExist) {
			c.discard()
			dir = c.entry
		} else if err != nil {
			c.discard()
			return "", err
		}
	}
	if err := c.store.whole(dir, c.id); err != nil {
		c.discard()
		return "", err
	}
	return dir, nil
}

// link makes links to the files of an entry.
func link(entry, to string) error {
	library, err := only(entry)
	if err != nil {
		return err
	}
	key, err := only(filepath.Join(entry, library))
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(to, library), 0o700); err != nil {
		return err
	}
	if err := os.Link(filepath.Join(entry, library, key), filepath.Join(to, library, key)); err != nil {
		return err
	}
	return os.Link(filepath.Join(entry, sumFile), filepath.Join(to, sumFile))
}

// compile makes the module of a runtime that has the cache, and keeps what is new.
func (c *code) compile(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
	defer c.discard()
	compiled, err := rt.CompileModule(ctx, wasm)
	if _, ok := errors.AsType[*fs.PathError](err); ok { // the code is in memory by then
		c.store.log.Warn("compiled code cannot be cached", "dir", c.store.dir, "error", err)
		c.entry = ""
		compiled, err = rt.CompileModule(ctx, wasm)
	}
	switch {
	case err != nil && c.from == CodeKept:
		c.store.drop(c.entry) // it is as it was written, and wazero cannot read it
	case err == nil && c.from != CodeKept && c.staging != "" && c.entry != "":
		if err := c.keep(); err != nil {
			c.store.log.Warn("compiled code cannot be cached", "dir", c.store.dir, "error", err)
		}
	}
	return compiled, err
}

// keep seals what was compiled and puts it into its place. If another process was faster,
// its code stays.
func (c *code) keep() error {
	line, err := sealed(c.staging, c.id)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.staging, sumFile), []byte(line), 0o600); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.entry), 0o700); err != nil {
		return err
	}
	if err := os.Rename(c.staging, c.entry); err != nil {
		if c.store.whole(c.entry, c.id) == nil {
			return nil
		}
		return err
	}
	c.staging = ""
	c.store.prune(filepath.Dir(c.entry))
	return nil
}

// discard removes what is not kept.
func (c *code) discard() {
	if c.staging != "" {
		_ = os.RemoveAll(c.staging) // or the next start does
		c.staging = ""
	}
}

// close frees what wazero has of the code.
func (c *code) close(ctx context.Context) {
	if c != nil && c.cache != nil {
		_ = c.cache.Close(ctx) // it frees memory, and cannot fail
	}
}

// made says whether a process has left what it was to make: without it this one would compile.
func (s *codeStore) made(staging string) error {
	library, err := only(staging)
	if err == nil {
		_, err = only(filepath.Join(staging, library))
	}
	if err != nil {
		return &compileError{"the process that compiles it has left no code: " + err.Error()}
	}
	return nil
}

// drop removes an entry. One that cannot be removed is not used all the same.
func (s *codeStore) drop(entry string) {
	if err := os.RemoveAll(entry); err != nil {
		s.log.Warn("compiled code cannot be removed", "entry", entry, "error", err)
	}
}

// prune keeps entries bounded in number and bytes.
func (s *codeStore) prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type kept struct {
		name string
		used time.Time
		size int64
	}
	var all []kept
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // else another process has removed it
			all = append(all, kept{e.Name(), info.ModTime(), sizeOf(filepath.Join(dir, e.Name()))})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return b.used.Compare(a.used) })
	bytes := int64(0)
	for i, e := range all {
		if bytes += e.size; i >= maxKept || i > 0 && bytes > keptBytes {
			s.drop(filepath.Join(dir, e.name))
		}
	}
}

// sizeOf is how many bytes the files of an entry have.
func sizeOf(entry string) (n int64) {
	_ = filepath.WalkDir(entry, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be looked at is not counted
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// moduleID stands for a module and for what a machine can do: code for one does not run on
// another that can do less.
func moduleID(wasm []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%+v %+v\n", cpu.X86, cpu.ARM64)
	h.Write(wasm)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// whole says what is wrong with an entry, or nil.
func (s *codeStore) whole(entry, id string) error {
	want, err := sealed(entry, id)
	if err != nil {
		return err
	}
	got, err := plainfile.Read(filepath.Join(entry, sumFile), 1<<10)
	if err != nil {
		return err
	}
	if string(got) != want {
		return errors.New("its hash is not that of what was written")
	}
	return nil
}

// keyName is how wazero names a file.
var keyName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// sealed is what the sum of an entry has to be. It holds what the code is of, so that no entry
// can stand for another.
func sealed(entry, id string) (string, error) {
	library, err := only(entry)
	if err != nil {
		return "", err
	}
	key, err := only(filepath.Join(entry, library))
	if err != nil {
		return "", err
	}
	if !keyName.MatchString(key) {
		return "", fmt.Errorf("it holds a file %.100q, which is no compiled code", key)
	}
	file, info, err := plainfile.Open(filepath.Join(entry, library, key))
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("callgate-code-1 %s %s/%s %d %x\n", id, library, key, info.Size(), h.Sum(nil)), nil
}

// only is the one name in a directory, but for the sum.
func only(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == sumFile })
	if len(entries) != 1 {
		var names []string
		for _, e := range entries[:min(len(entries), 3)] {
			names = append(names, e.Name())
		}
		return "", fmt.Errorf("%s has %d entries, want 1: %.200q", filepath.Base(dir), len(entries), strings.Join(names, " "))
	}
	return entries[0].Name(), nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
