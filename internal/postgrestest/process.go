package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/callgate/callgate/internal/install"
	"github.com/callgate/callgate/internal/testserver"
)

// process is a Postgres server.
type process struct {
	dir, url string
	server   *testserver.Process
}

// start makes a cluster in a folder of its own, and starts a server of it on a free port of
// the loopback interface.
func start(ctx context.Context) (*process, error) {
	bin, err := find(ctx)
	if err != nil {
		return nil, err
	}
	return startOf(ctx, bin)
}

// startOf does so with the programs of a folder.
func startOf(ctx context.Context, bin string) (*process, error) {
	as, err := serverUser()
	if err != nil {
		return nil, err
	}
	sweep("/tmp", time.Now())
	dir, err := os.MkdirTemp("/tmp", folders) // a socket's path may not be long
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir}
	if err := p.launch(ctx, bin, as); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

// folders is what the names of servers' folders begin with.
const folders = "callgate-postgres-"

// sweep removes what tests have left that were killed, and their servers with them. A folder of the last hour may be one
// whose server only begins.
func sweep(tmp string, now time.Time) {
	list, _ := filepath.Glob(filepath.Join(tmp, folders+"*")) // the pattern is good
	for _, dir := range list {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && now.Sub(info.ModTime()) > time.Hour && !lives(dir) {
			_ = os.RemoveAll(dir) // it may be another user's
		}
	}
}

// lives reports whether the server of a folder may run yet.
func lives(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return false
	}
	p, err := os.FindProcess(pid)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// credential is a user that a program runs as; nil is whoever runs the tests.
type credential struct{ uid, gid int }

// serverUser is whom the server runs as.
func serverUser() (*credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // whoever runs the tests
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.Atoi(u.Gid)
		return &credential{uid, gid}, err
	}
	return nil, install.MissingError{What: "postgres does not run as root, and there is no user postgres or nobody", Remedy: "run the tests as another user"}
}

func (p *process) launch(ctx context.Context, bin string, as *credential) error {
	if as != nil {
		if err := os.Chown(p.dir, as.uid, as.gid); err != nil {
			return err
		}
		if !isReachable(bin) { // such as what root has in its own cache
			root := filepath.Dir(filepath.Dir(filepath.Dir(bin))) // the package's, with its libraries
			if err := os.CopyFS(p.dir, os.DirFS(root)); err != nil {
				return err
			}
			bin = p.dir + strings.TrimPrefix(bin, root)
		}
	}
	data := filepath.Join(p.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "callgate", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	initdb.Dir, initdb.SysProcAttr = p.dir, attributes(as)
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	addr, err := testserver.FreeAddress(ctx)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	p.url = "postgres://callgate@" + addr + "/postgres?sslmode=disable"
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-h", host, "-p", port, "-k", p.dir, "-F", "-c", "max_connections=200")
	cmd.Dir, cmd.SysProcAttr = p.dir, attributes(as)
	p.server, err = testserver.Start(ctx, cmd, p.ping)
	return err
}

// isReachable reports whether other users can run programs in a folder.
func isReachable(dir string) bool {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm()&1 == 0 {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}

// ping asks for a connection.
func (p *process) ping(ctx context.Context) error {
	c, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// stop ends the server at once, and removes what it had.
func (p *process) stop() error {
	return errors.Join(p.server.End(syscall.SIGQUIT), os.RemoveAll(p.dir))
}
