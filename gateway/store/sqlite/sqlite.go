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

	"github.com/callgate/callgate/gateway/billing"
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
	return open(path, func(read, write *sql.DB) (store.Store, error) { return rows.New(ctx, read, write, dialect(path), o) })
}

// OpenLedger opens the ledger of usage in a file, which may be that of a store.
func OpenLedger(ctx context.Context, path string) (billing.Ledger, error) {
	return open(path, func(read, write *sql.DB) (billing.Ledger, error) {
		return rows.NewLedger(ctx, read, write, dialect(path))
	})
}

// open opens a file for what begins on it.
func open[T any](path string, begin func(read, write *sql.DB) (T, error)) (none T, err error) {
	if err := prepare(path); err != nil {
		return none, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return none, err
	}
	handle := func(connections int, options string) (*sql.DB, error) {
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
	write, err := handle(1, "&_txlock=immediate")
	if err != nil {
		return none, err
	}
	read, err := handle(readers, "&_txlock=deferred")
	if err != nil {
		return none, errors.Join(err, write.Close())
	}
	begun, err := begin(read, write)
	if err != nil {
		return none, errors.Join(err, read.Close(), write.Close())
	}
	return begun, nil
}

// dialect is SQLite's.
func dialect(path string) rows.Dialect {
	const seconds = "time / 1000, 'unixepoch'"
	return rows.Dialect{
		Bytes: "BLOB", Serial: "INTEGER PRIMARY KEY", Unnamed: true,
		Now:   "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
		Label: "(SELECT value FROM json_each(labels) WHERE key = %s)",
		TimeText: map[billing.Dimension]string{
			billing.ByHour: "strftime('%Y-%m-%dT%H:00:00Z', " + seconds + ")", billing.ByDay: "strftime('%Y-%m-%d', " + seconds + ")",
			billing.ByMonth: "strftime('%Y-%m', " + seconds + ")",
		},
		Again: isBusy, Clean: func(err error) error { return clean(path, err) },
	}
}

// prepare makes the file, so that nobody else may read it from its first byte on.
func prepare(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, mode)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err == nil && info.Mode().Perm()&^mode != 0 {
		err = f.Chmod(mode)
	}
	return errors.Join(err, f.Close())
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
	return fmt.Errorf("sqlite file %s: %w", path, err)
}
