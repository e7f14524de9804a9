// Package plainfile opens files that are to be read from their beginning to their end, and
// nothing that only looks like one: to open or to read a named pipe, a socket or a device may
// never end, or do something.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// KindError says that there is something else than a file.
type KindError struct {
	Name string
	Mode fs.FileMode
}

// Error implements error.
func (e *KindError) Error() string { return e.Name + " is " + kind(e.Mode) + " and not a plain file" }

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return fmt.Sprintf("something else (%v)", m)
}

// Check is nil for a file and for what a link to one is, and else a *KindError.
func Check(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &KindError{name, info.Mode()}
}

// Open opens a file, following links. Of anything else it returns a *KindError, at once. The
// kind is looked at before, because opening alone does something to some devices, and again
// when it is open, because it may be another one by then.
func Open(name string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := Check(name, info); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // without the flag a pipe waits for a writer
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = Check(name, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// Read reads a file of at most limit bytes. Of one that says it has none, nothing is read: the kernel's
// own, such as /proc/kmsg, say so, and to read one may never end.
func Read(name string, limit int64) ([]byte, error) {
	f, info, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, the limit is %d", name, info.Size(), limit)
	}
	if info.Size() == 0 {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit { // it has grown
		err = fmt.Errorf("%s has more than %d bytes, the limit", name, limit)
	}
	return b, err
}

// DirFS is os.DirFS for plain files alone: to open anything else but a directory is an error.
func DirFS(dir string) fs.FS { return &plainFS{dir, os.DirFS(dir)} }

type plainFS struct {
	dir string
	fs.FS
}

// Open implements fs.FS.
func (p *plainFS) Open(name string) (fs.File, error) {
	info, err := fs.Stat(p.FS, name)
	if err != nil || info.IsDir() {
		return p.FS.Open(name)
	}
	f, _, err := Open(path.Join(p.dir, name))
	if err != nil { // not f, which is no nil as an interface
		return nil, err
	}
	return f, nil
}
