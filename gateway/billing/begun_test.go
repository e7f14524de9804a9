package billing_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/billing/billingtest"
)

// childBegins is the environment variable that makes the test program one that begins answers.
const childBegins = "CALLGATE_TEST_BEGINS"

// begins is how many answers there are: of ten one is recorded, one forgotten, one begun again, and the others run.
const begins = 40

func begin(i int) billing.Row {
	r := billingtest.Rows(uint64(i), 1)[0]
	r.ID, r.Input, r.Output, r.Status = fmt.Sprint("row-", i), 100, 0, ""
	r.Cached, r.CacheWrite, r.Reasoning = 0, 0, 0
	return r
}

// beginSome begins answers in a journal, ends some, and waits to be killed.
func beginSome(dir string) error {
	l := newLedger()
	l.away.Store(true) // it would end with the process
	b, err := billing.NewBook(billing.Options{Ledger: l, Journal: dir, Interval: time.Hour})
	if err != nil {
		return err
	}
	for i := range begins {
		r := begin(i)
		billing.Noted(b, r)
		switch i % 10 {
		case 0:
			r.Output, r.Status = 7, "ok"
			b.Record(r)
		case 1:
			b.Forget(r.ID)
		case 2:
			r.Output = 50
			billing.Noted(b, r)
		}
	}
	billing.Noted(b, begin(begins-1)) // again: all that came before is in the journal as well
	fmt.Println("begun")
	select {}
}

// TestBegun kills a process while answers run: the next one with its journal makes a row of each, once, with what
// was said of it last, and none of those that had ended.
func TestBegun(t *testing.T) {
	t.Parallel()
	dir, l := t.TempDir(), newLedger()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childBegins+"="+dir)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if line != "begun\n" {
		t.Errorf("got %q, error %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for start := range 3 { // the second finds nothing any more
		b := newBook(t, billing.Options{Ledger: l, Journal: dir})
		flush(t, b)
		if n := b.Stats().Unfinished; start == 0 && n != begins*8/10 || start > 0 && n != 0 {
			t.Errorf("start %d: got %d unfinished", start, n)
		}
		shut(t, b)
	}
	got := map[string]billing.Row{}
	for _, r := range l.rows(t) {
		if _, twice := got[r.ID]; twice {
			t.Errorf("%s is there twice", r.ID)
		}
		got[r.ID] = r
	}
	for i := range begins {
		r, ok := got[fmt.Sprint("row-", i)]
		output, status := map[int]int64{0: 7, 2: 50}[i%10], billing.Unfinished
		if i%10 == 0 {
			status = "ok"
		}
		if want := begin(i); ok != (i%10 != 1) || ok && (r.Status != status || r.Output != output || r.Request != want.Request || r.Estimated != (status != "ok" || want.Estimated)) {
			t.Errorf("%d: got %v, %+v, want the status %s and %d tokens", i, ok, r, status, output)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("got %q, want that nothing is left", left)
	}
}

// TestBegunPlaces holds that places are used again, that a row with names that are very long has room, that notes
// of answers which have ended are gone, and that a Book that ends while answers run leaves those.
func TestBegunPlaces(t *testing.T) {
	t.Parallel()
	dir, l := t.TempDir(), newLedger()
	b := newBook(t, billing.Options{Ledger: l, Journal: dir})
	for i := range 300 {
		r := begin(i)
		b.Begin(r)
		b.Forget(r.ID)
	}
	long := begin(300)
	long.Model, long.Session, long.Labels = strings.Repeat("\x01", 256), strings.Repeat("\x02", 512), map[string]string{}
	for i := range 16 {
		long.Labels[fmt.Sprint("label-", i)] = strings.Repeat("\x03", 256)
	}
	billing.Noted(b, long)
	files, _ := filepath.Glob(filepath.Join(dir, "*.begun"))
	if len(files) != 1 {
		t.Fatalf("got %q", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() > 8<<10 {
		t.Errorf("got %v, error %v, want one place", info.Size(), err)
	}
	shut(t, b)
	b.Begin(begin(301)) // it has ended, and takes nothing
	b = newBook(t, billing.Options{Ledger: l, Journal: dir})
	flush(t, b)
	if got := l.rows(t); len(got) != 1 || got[0].ID != long.ID || got[0].Model != long.Model[:64] || got[0].Status != billing.Unfinished {
		t.Errorf("got %+v, want the one that ran", got)
	}
}
