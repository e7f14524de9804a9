package rows

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/internal/mutex"
)

// Dialect is what one database says otherwise than the other. Parameters are $1, $2 in both.
type Dialect struct {
	// Bytes and Serial are types of columns.
	Bytes, Serial string
	// Now is an expression for the database's clock in milliseconds, the same for all its
	// clients.
	Now string
	// Exclusive is run at the beginning of a migration, and keeps others out to its end.
	Exclusive string
	// Unnamed is set where parameters may be written as ?, and where it costs the square of their number to name
	// them, as it does SQLite.
	Unnamed bool
	// Lateral is set where there is CROSS JOIN LATERAL. Elsewhere CROSS JOIN must go from
	// left to right, as SQLite's does.
	Lateral bool
	// Share follows a SELECT whose row nobody may change until the transaction ends.
	Share string
	// Collate follows an expression or a column's type for texts that are in the order of their bytes.
	Collate string
	// Label is an expression for a member of the JSON text labels, where %s is its name.
	Label string
	// TimeText are the expressions for the hour, day and month of the column time, as texts in UTC.
	TimeText map[billing.Dimension]string
	// Again reports whether a transaction failed only because of another one.
	Again func(error) bool
	// Clean takes secrets out of an error's text.
	Clean func(error) error
}

// Store is a store in tables. Methods are those of [store.Store].
type Store struct {
	database
	o       store.Options
	local   mutex.Set // in front of the locks of the database
	evicted atomic.Uint64
	isStale atomic.Bool // that locks cannot be kept fresh

	newBytes, newEntries atomic.Int64 // since the bound of all was looked after
}

// New makes a store of two handles to one database, which may be the same, and brings its
// tables up to date. Close closes them.
func New(ctx context.Context, read, write *sql.DB, d Dialect, o store.Options) (*Store, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	s := &Store{database: database{d, read, write}, o: o}
	if err := s.migrate(ctx, "callgate_migrations", d.migrations()); err != nil {
		return nil, err
	}
	return s, nil
}

// migrations make the tables, one step after the other; the number of those that were done
// is in the database. A step that was published does not change.
func (d Dialect) migrations() []string {
	return []string{fmt.Sprintf(`
CREATE TABLE callgate_tenants (tenant TEXT PRIMARY KEY, bytes BIGINT NOT NULL, entries BIGINT NOT NULL);
CREATE TABLE callgate_responses (tenant TEXT NOT NULL, id TEXT NOT NULL, previous TEXT NOT NULL, conversation TEXT NOT NULL,
  created BIGINT NOT NULL, expires BIGINT NOT NULL, size BIGINT NOT NULL, body %[1]s NOT NULL, PRIMARY KEY (tenant, id));
CREATE INDEX callgate_responses_expires ON callgate_responses (tenant, expires);
CREATE TABLE callgate_conversations (tenant TEXT NOT NULL, id TEXT NOT NULL, created BIGINT NOT NULL, size BIGINT NOT NULL,
  metadata %[1]s NOT NULL, PRIMARY KEY (tenant, id));
CREATE TABLE callgate_items (place %[2]s, tenant TEXT NOT NULL, owner TEXT NOT NULL, part INTEGER NOT NULL, id TEXT NOT NULL,
  expires BIGINT NOT NULL, size BIGINT NOT NULL, body %[1]s NOT NULL);
CREATE INDEX callgate_items_owner ON callgate_items (tenant, owner, part, place);
CREATE INDEX callgate_items_id ON callgate_items (tenant, id, place);
CREATE TABLE callgate_locks (tenant TEXT NOT NULL, name TEXT NOT NULL, holder TEXT NOT NULL, until BIGINT NOT NULL, PRIMARY KEY (tenant, name));
`, d.Bytes, d.Serial),
		fmt.Sprintf(`
CREATE TABLE callgate_keys (kind TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, body %s NOT NULL, PRIMARY KEY (kind, name));
CREATE TABLE callgate_keys_revision (revision BIGINT NOT NULL);
INSERT INTO callgate_keys_revision VALUES (1);
`, d.Bytes)}
}
