package keys

import (
	"context"
	"errors"
)

// Keeper keeps the keys and teams that are made at run time, for all gateways that have it in common.
// Its methods may be called by many goroutines. Errors other than these are faults of the disk or of
// the server.
type Keeper interface {
	// LoadKeys returns all records, and the revision that they are of: it grows with every change. Where
	// nothing has changed since a revision there are no records.
	LoadKeys(ctx context.Context, since int64) (all []Record, revision int64, err error)
	// PutKey stores a record in the place of that with its kind and name, whose version is to be was; 0
	// is for none. Where it is another one the error is ErrConflict.
	PutKey(ctx context.Context, r Record, was int64) error
	// DeleteKey deletes the record with a kind and name and that version, or returns ErrConflict.
	DeleteKey(ctx context.Context, kind Kind, name string, was int64) error
}

// ErrConflict says that somebody else has changed the record, or made or deleted it.
var ErrConflict = errors.New("keys: the record was changed by somebody else")

// Record is a key or a team as it is kept.
type Record struct {
	Kind Kind
	Name string
	// Version is the revision of its last change. The keeper sets it.
	Version int64
	// Body is JSON.
	Body []byte
}

// Kind says what a record is.
type Kind string

// The kinds.
const (
	KeyRecord  Kind = "key"
	TeamRecord Kind = "team"
)
