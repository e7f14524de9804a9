package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/keys/keystest"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/sqlite"
	"github.com/callgate/callgate/gateway/store/storetest"
	"github.com/callgate/callgate/internal/logtest"
)

// childFile is the environment variable that makes the test program a writer of a file.
const childFile = "CALLGATE_TEST_STORE_FILE"

func TestMain(m *testing.M) {
	if file := os.Getenv(childFile); file != "" {
		if err := writeForever(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, file string, o store.Options) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestContract holds the store in a file to the contract.
func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB, o store.Options) store.Store {
		return open(t, filepath.Join(t.TempDir(), "store.db"), o)
	})
}

// TestKeys holds the keys in a file to theirs.
func TestKeys(t *testing.T) {
	t.Parallel()
	keeper := func(t testing.TB, file string) keys.Keeper {
		return open(t, file, storetest.Options()).(interface{ Keys() keys.Keeper }).Keys()
	}
	keystest.Run(t, func(t testing.TB) keys.Keeper { return keeper(t, filepath.Join(t.TempDir(), "store.db")) })
	file := filepath.Join(t.TempDir(), "store.db")
	keystest.Shared(t, keeper(t, file), keeper(t, file))
}

// TestShared has two stores on one file.
func TestShared(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "store.db")
	storetest.Shared(t, open(t, file, storetest.Options()), open(t, file, storetest.Options()))
}

// TestFile holds that the file is the owner's alone, also one that others could read, that
// it opens again, and that a name is taken as it is.
func TestFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"store.db", "a b?mode=memory&x=%41#y.db"} {
		file := filepath.Join(t.TempDir(), name)
		if runtime.GOOS == "windows" {
			continue
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			s, err := sqlite.Open(t.Context(), file, storetest.Options())
			if err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprint("resp_", i)
			if err := s.PutResponse(t.Context(), "a", &store.Response{ID: id, Body: []byte("{}")}, true); err != nil {
				t.Fatal(err)
			}
			if _, err := s.GetResponse(t.Context(), "a", "resp_0"); err != nil {
				t.Error(err)
			}
			if files, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); err != nil || len(files) != 3 {
				t.Errorf("got the files %q, error %v, want three", files, err)
			} else {
				for _, f := range files {
					if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
						t.Errorf("%s: got mode %v, error %v, want 0600", f, info.Mode(), err)
					}
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestOpenMistakes holds that what cannot be opened is said, with the file's name.
func TestOpenMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer.db")
	open(t, newer, storetest.Options())
	db, err := sql.Open("sqlite", newer)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO callgate_migrations VALUES (1000)"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{text: "not a database", newer: "newer version", filepath.Join(dir, "none", "x.db"): "no such file", dir: "directory"} {
		if _, err := sqlite.Open(t.Context(), file, storetest.Options()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got error %v, want %q", file, err, want)
		}
	}
}

// writeForever puts responses into a conversation, and prints the number of each once it is
// stored.
func writeForever(file string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, file, storetest.Options())
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("%d_%d", os.Getpid(), i)
		r := &store.Response{ID: "resp_" + id, Conversation: "conv_1", Body: []byte(strings.Repeat("x", rand.IntN(20_000))),
			Input: []store.Item{{ID: "in_" + id, Body: []byte("in")}}, Output: []store.Item{{ID: "out_" + id, Body: []byte("out")}}}
		if err := s.PutResponse(ctx, "a", r, true); err != nil {
			return err
		}
		fmt.Println(id)
	}
}

// TestKilled kills a process that writes, at any moment and several times over, and two at
// once. The file opens again and holds every response whose put had returned; one that had
// not is there whole or not at all.
func TestKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "store.db")
	s := open(t, file, storetest.Options())
	if err := s.CreateConversation(t.Context(), "a", &store.Conversation{ID: "conv_1"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stored := 0
	for round := range 12 {
		ids := make(chan []string, 2)
		for range 1 + round%2 {
			go func() { ids <- killed(t, file, rand.IntN(60)) }()
		}
		var all []string
		for range 1 + round%2 {
			all = append(all, <-ids...)
		}
		s := open(t, file, storetest.Options())
		for _, id := range all {
			r, err := s.GetResponse(t.Context(), "a", "resp_"+id)
			if err != nil || len(r.Input) != 1 || len(r.Output) != 1 {
				t.Fatalf("round %d: %s: got %+v, error %v, want what was stored", round, id, r, err)
			}
		}
		checkWhole(t, s)
		stored += len(all)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if stored == 0 {
		t.Error("nothing was stored")
	}
	t.Logf("%d responses were stored in processes that were killed", stored)
}

// killed starts a writer, kills it when it has printed more than a number of ids, and
// returns those.
func killed(t *testing.T, file string, after int) (ids []string) {
	program, err := os.Executable()
	if err != nil {
		t.Error(err)
		return nil
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childFile+"="+file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return nil
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		ids = append(ids, lines.Text())
		if len(ids) == after+1 {
			for range rand.IntN(1000) { // somewhere in the next one
				runtime.Gosched()
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if len(ids) > 0 && !strings.Contains(ids[len(ids)-1], "_") {
		ids = ids[:len(ids)-1] // a line that was cut
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Errorf("got error %v, want that it was killed", err)
	}
	return ids
}

// checkWhole holds that the conversation has both items of each response that is there, one
// after the other, and those of no other one.
func checkWhole(t *testing.T, s store.Store) {
	t.Helper()
	items, more, err := s.ListItems(t.Context(), "a", "conv_1", store.Page{Limit: 1 << 30})
	if err != nil || more {
		t.Fatalf("got error %v", err)
	}
	for i := 0; i < len(items); i += 2 {
		id := strings.TrimPrefix(items[i].ID, "in_")
		if i+1 == len(items) || items[i+1].ID != "out_"+id {
			t.Fatalf("got %s without what follows it", items[i].ID)
		}
		if _, err := s.GetResponse(t.Context(), "a", "resp_"+id); err != nil {
			t.Errorf("%s: got error %v for a response whose items are in the conversation", id, err)
		}
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Entries != int64(len(items)/2+1) {
		t.Errorf("got %+v, error %v, want the conversation and %d responses", st, err, len(items)/2)
	}
}

func BenchmarkTurn(b *testing.B) {
	storetest.Bench(b, open(b, filepath.Join(b.TempDir(), "store.db"), storetest.Options()))
}

// TestStaleLocks holds that the log hears of locks that cannot be kept fresh, once for all of them, of one that another
// holder has meanwhile, and of one that cannot be deleted.
func TestStaleLocks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "store.db")
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Buffer
		s := open(t, file, store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 20, Entries: 100}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		var releases []func()
		for _, name := range []string{"conv_1", "conv_2"} {
			release, err := s.Lock(t.Context(), "app", name)
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		says := func(want ...string) {
			t.Helper()
			got := slices.Collect(strings.Lines(log.Take()))
			if len(got) != len(want) {
				t.Errorf("got %q, want %d lines", got, len(want))
				return
			}
			for i := range want {
				if !strings.Contains(got[i], want[i]) {
					t.Errorf("got %q, want %q in it", got[i], want[i])
				}
			}
		}
		time.Sleep(store.LockTime)
		synctest.Wait()
		says()
		change(t, file, "ALTER TABLE callgate_locks RENAME TO away")
		time.Sleep(store.LockTime)
		synctest.Wait()
		says("locks cannot be kept fresh")
		change(t, file, "ALTER TABLE away RENAME TO callgate_locks")
		time.Sleep(store.LockTime)
		synctest.Wait()
		says("locks are kept fresh again")
		change(t, file, "UPDATE callgate_locks SET holder = 'another', until = until + 1000000 WHERE name = 'conv_1'")
		time.Sleep(store.LockTime / 3)
		synctest.Wait()
		says("a lock is lost, since it could not be kept fresh: another request has it\" key=app of=conv_1")
		releases[0]()
		change(t, file, "ALTER TABLE callgate_locks RENAME TO away")
		releases[1]()
		synctest.Wait()
		says("a lock stays until its time is up, since it could not be deleted\" key=app of=conv_2")
	})
}

// change changes the file of a store from without.
func change(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
