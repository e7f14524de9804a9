package billing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Unfinished is the status of a row whose process was killed before the answer had ended.
const Unfinished = "unfinished"

// Begun answers have a place each in a file beside the segments, NAME.begun. A place is erased and used
// again, so that the file is as large as the most that have run at once.
const (
	begunSuffix = ".begun"
	begunPlace  = 8 << 10 // bytes; most are holes
	maxBegun    = 16384   // places
	// shortName is what is left of names in a row that would have no room.
	shortName = 64 // bytes
)

// begun is the file of the answers that upstreams were asked for and that have not ended. A nil one takes nothing.
type begun struct {
	path string
	file *os.File
	// turn is the lock of the file. Of those who wait for a disk that hangs all but one give up in time.
	turn chan struct{}

	mu     sync.Mutex
	places map[string]int // by the row's ID
	free   []int
	count  int // places that there are
	closed bool
	said   time.Time // when the log said that there is none
}

func newBegun(path string) (*begun, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return nil, err
	}
	return &begun{path: path, file: f, turn: make(chan struct{}, 1), places: map[string]int{}}, nil
}

var (
	errBegunFull = fmt.Errorf("%d answers run at once, and more are not noted", maxBegun)
	errDiskSlow  = errors.New("the disk does not answer")
	errEnded     = errors.New("the gateway has ended its ledger")
)

// note writes a row, or writes it again.
func (n *begun) note(r *Row) error {
	line := begunLine(r)
	at, err := n.place(r.ID)
	if err != nil {
		return err
	}
	if err = n.write(line, at); err != nil {
		n.end(r.ID)
	}
	return err
}

// place is where a row is noted.
func (n *begun) place(id string) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, known := n.places[id]
	switch last := len(n.free) - 1; {
	case n.closed:
		return 0, errEnded
	case known:
		return at, nil
	case last >= 0:
		at, n.free = n.free[last], n.free[:last]
	case n.count == maxBegun:
		return 0, errBegunFull
	default:
		at = n.count
		n.count++
	}
	n.places[id] = at
	return at, nil
}

// write writes to a place, and waits for the file no longer than Record does.
func (n *begun) write(line []byte, at int) error {
	select {
	case n.turn <- struct{}{}:
	default:
		timer := time.NewTimer(recordWait)
		defer timer.Stop()
		select {
		case n.turn <- struct{}{}:
		case <-timer.C:
			return errDiskSlow
		}
	}
	_, err := n.file.WriteAt(line, int64(at)*begunPlace)
	<-n.turn
	return err
}

// end erases a row: it is in the journal, or its upstream bills nothing.
func (n *begun) end(id string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	at, known := n.places[id]
	delete(n.places, id)
	n.mu.Unlock()
	if !known {
		return
	}
	_ = n.write([]byte{'\n'}, at) // what is left makes a row that the ledger knows
	n.mu.Lock()
	defer n.mu.Unlock()
	n.free = append(n.free, at)
}

// runs is how many answers are noted.
func (n *begun) runs() int {
	if n == nil {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.places)
}

// quiet reports whether the log has said lately that notes fail.
func (n *begun) quiet() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.said) < 10*time.Second {
		return true
	}
	n.said = time.Now()
	return false
}

// close ends the file, which is left for the next start if answers run yet.
func (n *begun) close() error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	n.closed = true
	empty := len(n.places) == 0
	n.mu.Unlock()
	err := n.file.Close()
	if empty {
		err = errors.Join(err, os.Remove(n.path))
	}
	return err
}

// begunLine is a row's line, which has room in a place: of one with names that are very long the labels and the
// session are left out, and the names cut.
func begunLine(r *Row) []byte {
	line := appendLine(nil, r)
	if len(line) <= begunPlace {
		return line
	}
	short := *r
	short.Labels, short.Session = nil, ""
	for _, s := range []*string{&short.Request, &short.Key, &short.Team, &short.Model, &short.Provider, &short.Served, &short.Arm} {
		*s = text(*s, shortName)
	}
	return appendLine(line[:0], &short)
}

// readBegun reads the rows of answers that have not ended when their process did.
func readBegun(path string) ([]Row, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []byte
	place := make([]byte, begunPlace)
	for at := range maxBegun {
		n, err := f.ReadAt(place, int64(at)*begunPlace)
		line, _, ended := bytes.Cut(place[:n], []byte{'\n'})
		if ended && len(line) > 0 { // else it was not asked for yet
			lines = append(append(lines, line...), '\n')
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	rows, _ := readLines(lines)
	return rows, nil
}

// finishBegun makes a segment of the answers that a process has begun which has ended, but for those whose rows
// are in its segments. nil: there are none.
func (j *journal) finishBegun(name string, segments []string) (*segment, error) {
	path := filepath.Join(j.dir, name+begunSuffix)
	rows, err := readBegun(path)
	if err != nil {
		return nil, err
	}
	var made *segment
	if len(rows) > 0 {
		ended := map[string]bool{}
		for _, file := range segments {
			lines, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			there, _ := readLines(lines)
			for i := range there {
				ended[there[i].ID] = true
			}
		}
		made, err = j.unfinished(rows, ended)
		if err != nil {
			return nil, err
		}
	}
	// From here on they are in the segment. Killed before, they are made again, and the ledger knows them.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return made, err
	}
	return made, nil
}

func (j *journal) unfinished(rows []Row, ended map[string]bool) (*segment, error) {
	var lines []byte
	s := &segment{path: j.nextPath()}
	for i := range rows {
		if r := &rows[i]; !ended[r.ID] {
			r.Status, r.Estimated = Unfinished, true
			lines = appendLine(lines, r)
			s.count++
		}
	}
	if s.count == 0 {
		return nil, nil
	}
	s.bytes = int64(len(lines))
	j.unended += s.count
	return s, os.WriteFile(s.path, lines, fileMode)
}

// isBegun is the name of the process whose file of begun answers this is.
func isBegun(file string) (name string, ok bool) { return strings.CutSuffix(file, begunSuffix) }
