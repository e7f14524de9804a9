package postgrestest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/callgate/callgate/internal/install"
)

// TestInstalled starts the server of the package that machines without one install.
func TestInstalled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), installTime)
	defer cancel()
	bin, err := installed(ctx)
	install.Need(t, err, Require)
	p, err := startOf(ctx, bin)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(ctx, p.url)
	if err != nil {
		t.Fatal(err)
	}
	var version string
	if err := c.QueryRow(ctx, "SELECT version()").Scan(&version); err != nil {
		t.Error(err)
	}
	t.Log(version)
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
