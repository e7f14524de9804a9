// Package sqlite is the [store.Store] in one file of SQLite, for one machine: it outlives
// the gateway, and several gateways on the machine may have the same file. It is the only
// importer of modernc.org/sqlite, which needs no C.
//
// The file and its two neighbours (-wal, -shm) have the mode 0600. What is deleted in it is
// overwritten. A put that has returned outlives the process, whatever ends it; what was
// written in the last moments before a power cut may be missing, and the file stays whole.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/internal/rows"
)

const (
	// readers is how many read at once. One writes.
	readers = 4
	// busyTime is how long one waits for another process that writes, in milliseconds.
	busyTime = 10_000
	mode     = 0o600
)

// Open opens the file, or makes it, and brings its tables up to date. Its folder must be
// there. The caller closes the store.
func Open(ctx context.Context, path string, o store.Options) (store.Store, error) {
	if err := prepare(path); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	open := func(connections int, options string) (*sql.DB, error) {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: fmt.Sprintf(
			"_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=secure_delete(ON)&_pragma=journal_size_limit(67108864)%s",
			busyTime, options)}
		db, err := sql.Open("sqlite", u.String())
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		return db, nil
	}
	write, err := open(1, "&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	read, err := open(readers, "&_txlock=deferred")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	s, err := rows.New(ctx, read, write, rows.Dialect{
		Bytes: "BLOB", Serial: "INTEGER PRIMARY KEY",
		Now:   "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
		Again: isBusy, Clean: func(err error) error { return clean(path, err) },
	}, o)
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	return s, nil
}

// prepare makes the file, so that nobody else may read it from its first byte on.
func prepare(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, mode)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err == nil && info.Mode().Perm()&^mode != 0 {
		err = f.Chmod(mode)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

func isBusy(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	primary := e.Code() & 0xff
	return primary == sqlite3.SQLITE_BUSY || primary == sqlite3.SQLITE_LOCKED
}

func clean(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: sqlite file %s: %w", path, err)
}
