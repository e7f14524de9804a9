// Package postgres is the [store.Store] in a Postgres, version 12 or later, for gateways on
// several machines. Its tables begin with callgate_, and it makes them itself. It is the
// only importer of pgx. Errors hold no password.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/internal/rows"
	"github.com/callgate/callgate/internal/redact"
)

const (
	// connections is the most that one gateway has.
	connections = 16
	// ledgerConnections are for the ledger: one writes, and some read.
	ledgerConnections = 4
	idleTime          = 5 * time.Minute
	openTime          = 15 * time.Second
	dialTime          = 5 * time.Second
	// migration is the advisory lock that gateways take while they make tables: "callgate"
	// in hexadecimal.
	migration = 0x63616c6c67617465
)

// Open connects, and brings the tables up to date. url is postgres://user:password@host/db,
// with the parameters of libpq. The caller closes the store.
func Open(ctx context.Context, url string, o store.Options) (store.Store, error) {
	return open(ctx, url, connections, func(ctx context.Context, db *sql.DB, d rows.Dialect) (store.Store, error) {
		return rows.New(ctx, db, db, d, o)
	})
}

// OpenLedger opens the ledger of usage, with a few connections of its own.
func OpenLedger(ctx context.Context, url string) (billing.Ledger, error) {
	return open(ctx, url, ledgerConnections, func(ctx context.Context, db *sql.DB, d rows.Dialect) (billing.Ledger, error) {
		return rows.NewLedger(ctx, db, db, d)
	})
}

// open connects for what begins there.
func open[T any](ctx context.Context, url string, connections int, begin func(context.Context, *sql.DB, rows.Dialect) (T, error)) (none T, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil { // it may quote the URL
		return none, errors.New("the URL is not postgres://user:password@host:port/database, or has a parameter that is not known")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = dialTime
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "callgate"
	}
	// No statement is prepared: its plan would be one for tables as they were then, mostly
	// empty, and a proxy such as PgBouncer may give each transaction another connection.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(idleTime)
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	begun, err := begin(ctx, db, dialect(config.Password))
	if err != nil {
		return none, errors.Join(err, db.Close())
	}
	return begun, nil
}

// dialect is that of Postgres.
func dialect(password string) rows.Dialect {
	const at = "to_char(to_timestamp(time / 1000) AT TIME ZONE 'UTC', "
	return rows.Dialect{
		Bytes: "BYTEA", Serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		Now:       "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
		Exclusive: fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(migration)),
		Lateral:   true,
		Share:     " FOR SHARE",
		Collate:   ` COLLATE "C"`,
		Label:     "CAST(labels AS JSONB) ->> %s",
		TimeText: map[billing.Dimension]string{
			billing.ByHour: at + `'YYYY-MM-DD"T"HH24":00:00Z"')`, billing.ByDay: at + "'YYYY-MM-DD')", billing.ByMonth: at + "'YYYY-MM')",
		},
		Again: isConflict, Clean: func(err error) error { return clean(password, err) },
	}
}

// isConflict reports whether a transaction may be tried again: it could not be serialised,
// was in a deadlock, or did not reach the server.
func isConflict(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "40001" || e.Code == "40P01"
	}
	return pgconn.SafeToRetry(err) && !errors.Is(err, sql.ErrConnDone)
}

// maxError is how much of an error is kept, in bytes.
const maxError = 300

// clean makes an error one short line without the password, and says of each attempt to connect
// once what went wrong: with TLS and without it is mostly the same.
func clean(password string, err error) error {
	if err == nil {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(redact.New([]string{password}).Out(err.Error()), "\n") {
		if line = strings.Join(strings.Fields(line), " "); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, " ")
	text = "postgres: " + strings.ToValidUTF8(text[:min(len(text), maxError)], "")
	if isAway(err) {
		return awayError(text)
	}
	return errors.New(text)
}

// awayError is what clean makes of an error of a server that is away.
type awayError string

func (e awayError) Error() string { return string(e) }

// Is makes it store.ErrAway.
func (e awayError) Is(target error) bool { return target == store.ErrAway }

// isAway reports whether a server could not be connected to, for a reason that may pass: nobody
// answers, it starts or ends (class 57), or it has no connection left (class 53).
func isAway(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "53")
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) && errors.As(err, &network)
}
