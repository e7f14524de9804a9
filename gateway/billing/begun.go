package billing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// begun is the file of the answers that upstreams were asked for and that have not ended. It belongs to the goroutine
// that writes the journal.
type begun struct {
	path   string
	file   disk
	places map[string]int // by the row's ID
	ended  []int          // places of rows that have ended, and are there yet
	free   []int          // places that are erased
	count  int            // places that there are
}

// disk is the file, or a test's.
type disk interface {
	io.WriterAt
	io.Closer
}

func newBegun(path string) (*begun, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return nil, err
	}
	return &begun{path: path, file: f, places: map[string]int{}}, nil
}

var (
	errBegunFull = fmt.Errorf("%d answers run at once, and more are not noted", maxBegun)
	errDiskSlow  = errors.New("the disk does not answer")
	errEnded     = errors.New("the gateway has ended its ledger")
)

// note is what is to be noted of an answer.
type note struct {
	id   string
	line []byte // nil: it is to be forgotten
	err  error  // of writing it
}

func (n *note) size() int64 { return int64(len(n.id) + len(n.line)) }

// write writes a row, or writes it again, or erases it.
func (n *begun) write(one *note) error {
	at, known := n.places[one.id]
	if one.line == nil {
		n.end(one.id)
		return n.erase()
	}
	if !known {
		if at = n.place(); at < 0 {
			return errBegunFull
		}
		n.places[one.id] = at
	}
	_, err := n.file.WriteAt(one.line, int64(at)*begunPlace)
	if err != nil && !known { // else what was said before stays
		n.end(one.id)
	}
	return err
}

// place is one that nobody has; -1: there is none. The row of one that has ended is written over.
func (n *begun) place() (at int) {
	for _, list := range []*[]int{&n.ended, &n.free} {
		if last := len(*list) - 1; last >= 0 {
			at, *list = (*list)[last], (*list)[:last]
			return at
		}
	}
	if n.count == maxBegun {
		return -1
	}
	n.count++
	return n.count - 1
}

// end gives a row's place up: it is in the journal. What is left there until erase makes no row as long as the
// segment with the row is there, and later one that the ledger knows.
func (n *begun) end(id string) {
	if at, known := n.places[id]; known {
		delete(n.places, id)
		n.ended = append(n.ended, at)
	}
}

// erase erases the rows that have ended.
func (n *begun) erase() error {
	for len(n.ended) > 0 {
		at := n.ended[len(n.ended)-1]
		if _, err := n.file.WriteAt([]byte{'\n'}, int64(at)*begunPlace); err != nil {
			return err
		}
		n.ended, n.free = n.ended[:len(n.ended)-1], append(n.free, at)
	}
	return nil
}

// close ends the file, which is left for the next start if answers run yet.
func (n *begun) close() error {
	err := n.file.Close()
	if len(n.places) == 0 {
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
	if err := os.WriteFile(s.path, lines, fileMode); err != nil {
		_ = os.Remove(s.path) // the notes are left
		return nil, err
	}
	j.unended += s.count
	return s, nil
}

// isBegun is the name of the process whose file of begun answers this is.
func isBegun(file string) (name string, ok bool) { return strings.CutSuffix(file, begunSuffix) }
