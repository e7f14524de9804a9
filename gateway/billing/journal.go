package billing

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callgate/callgate/internal/filelock"
)

// The names of the files in a journal's folder: NAME.lock, which a process holds as long as it lives,
// NAME-00000001.jsonl, its segments, and NAME.begun, the answers that run. What could not be read or was too
// late ends in .kept and is left alone.
const (
	lockSuffix    = ".lock"
	segmentSuffix = ".jsonl"
	badSuffix     = ".kept"
	folderMode    = 0o700
	fileMode      = 0o600
)

// journal is the folder where rows wait that are not in the ledger yet.
type journal struct {
	dir, name string
	lock      *os.File
	number    int
	unended   int   // answers that processes had begun which were killed
	left      error // why something of processes that have ended is left for the next start
}

// segment is rows that go to the ledger together.
type segment struct {
	path string // "": they are in memory alone
	file *os.File
	size int64 // of the file
	// rows are nil where there was no room for them in memory: then they are read from the file.
	rows  []Row
	count int
	bytes int64 // what they count for
}

// openJournal opens a folder, and takes over the segments of processes that have ended.
func openJournal(dir string) (*journal, []*segment, error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, nil, err
	}
	j := &journal{dir: dir}
	lock, held, err := j.begin()
	for n := 1; held && n < 10; n++ { // one that starts too took it for that of a process which has ended
		lock, held, err = j.begin()
	}
	if err != nil || held {
		return nil, nil, errors.Join(err, fmt.Errorf("%s cannot be locked", dir))
	}
	j.lock = lock
	segments, err := j.adopt()
	if err != nil {
		return nil, nil, errors.Join(err, j.close(true))
	}
	return j, segments, nil
}

// begin locks the journal by a new name.
func (j *journal) begin() (lock *os.File, held bool, err error) {
	j.name = "usage-" + strings.ToLower(rand.Text()[:12])
	return filelock.Try(filepath.Join(j.dir, j.name+lockSuffix), fileMode)
}

// adopt takes over the segments of processes that have ended, oldest first.
func (j *journal) adopt() (all []*segment, err error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries { // in the order of their names
		name, ok := strings.CutSuffix(e.Name(), lockSuffix)
		if !ok {
			name, ok = isBegun(e.Name())
		}
		if i := strings.LastIndexByte(e.Name(), '-'); !ok && i > 0 && strings.HasSuffix(e.Name(), segmentSuffix) {
			name, ok = e.Name()[:i], true
		}
		if ok && name != j.name && strings.HasPrefix(name, "usage-") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		lock, held, err := filelock.Try(filepath.Join(j.dir, name+lockSuffix), fileMode)
		if err != nil {
			return nil, err
		}
		if held {
			continue // it lives
		}
		segments, err := j.takeOver(name)
		all = append(all, segments...)
		// What cannot be taken over, as on a disk that is full, keeps no gateway from its start.
		j.left = errors.Join(j.left, err, unlock(lock))
	}
	return all, nil
}

// takeOver gives the segments of a process that has ended names of this one, and makes one of what it had begun.
func (j *journal) takeOver(name string) (all []*segment, err error) {
	files, err := j.segmentsOf(name)
	if err != nil {
		return nil, err
	}
	begun, err := j.finishBegun(name, files) // while its segments have its name
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		s := &segment{path: j.nextPath()}
		if err := os.Rename(file, s.path); err != nil {
			return all, err
		}
		lines, err := os.ReadFile(s.path)
		if err != nil {
			return all, err
		}
		s.count, s.bytes = bytes.Count(lines, []byte{'\n'}), int64(len(lines))
		all = append(all, s)
	}
	if begun != nil {
		all = append(all, begun)
	}
	return all, nil
}

// segmentsOf are the files of a process's segments, in their order. The folder's own name is no pattern.
func (j *journal) segmentsOf(name string) (files []string, err error) {
	entries, err := os.ReadDir(j.dir) // sorted
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+"-") && strings.HasSuffix(e.Name(), segmentSuffix) {
			files = append(files, filepath.Join(j.dir, e.Name()))
		}
	}
	return files, err
}

// nextPath is the path of the next segment.
func (j *journal) nextPath() string {
	j.number++
	return filepath.Join(j.dir, fmt.Sprintf("%s-%08d%s", j.name, j.number, segmentSuffix))
}

// append writes lines to a segment's file, all or none.
func (j *journal) append(s *segment, lines []byte) (err error) {
	if s.file == nil {
		path := j.nextPath()
		if s.file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode); err != nil {
			return err
		}
		s.path = path
	}
	n, err := s.file.WriteAt(lines, s.size)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, s.file.Truncate(s.size))
		}
		return err
	}
	s.size += int64(n)
	return nil
}

// sync brings the segment's bytes to the disk. Nothing is written to it any more.
func (s *segment) sync() error {
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.file.Sync(), s.file.Close())
	s.file = nil
	return err
}

// read returns the segment's rows, which are on the disk then, and how many lines are none.
func (s *segment) read() (rows []Row, bad int, err error) {
	if err := s.sync(); err != nil || s.rows != nil || s.path == "" {
		return s.rows, 0, err
	}
	b, err := os.ReadFile(s.path)
	if err != nil {
		return nil, 0, err
	}
	if s.size > 0 && int64(len(b)) > s.size {
		b = b[:s.size] // the rest is of a write that has failed
	}
	rows, bad = readLines(b)
	return rows, bad, nil
}

// discard gives up a file that has no rows.
func (s *segment) discard() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.path)
	}
	*s = segment{}
}

// readLines reads rows, and counts the lines that are none.
func readLines(lines []byte) (rows []Row, bad int) {
	for line := range bytes.Lines(lines) {
		var r Record
		if json.Unmarshal(line, &r) != nil {
			bad++
			continue
		}
		row := r.row()
		if row.clean() != "" {
			bad++
			continue
		}
		rows = append(rows, row)
	}
	return rows, bad
}

// remove deletes the segment's file once its rows are in the ledger, or keeps it under another name.
func (s *segment) remove(keep bool) error {
	switch {
	case s.path == "":
		return nil
	case keep:
		return os.Rename(s.path, s.path+badSuffix)
	}
	if err := os.Remove(s.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// close gives the journal up. Where segments are left the next start finds them.
func (j *journal) close(empty bool) error {
	if empty {
		return unlock(j.lock)
	}
	return filelock.LetGo(j.lock)
}

// unlock deletes a lock's file, and lets it go.
func unlock(lock *os.File) error {
	removed := os.Remove(lock.Name())
	err := filelock.LetGo(lock)
	if removed != nil { // some systems delete no open file
		removed = os.Remove(lock.Name())
	}
	if errors.Is(removed, fs.ErrNotExist) {
		removed = nil // two have looked after it
	}
	return errors.Join(removed, err)
}
