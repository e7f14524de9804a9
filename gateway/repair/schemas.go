package repair

import (
	"bytes"
	"crypto/sha256"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callgate/callgate/gateway/wire"
)

const (
	// maxSchema is how many bytes a schema may have.
	maxSchema = 256 << 10
	// defaultSchemas is how many compiled schemas are kept if the caller does not say.
	defaultSchemas = 256
	// keptNodes is how many places all kept schemas may have together. One takes about
	// a kilobyte.
	keptNodes = 64 << 10
)

// Schemas checks arguments against the JSON Schemas of tools. It keeps the compiled
// schemas that were used last, found by the hash of their bytes. It is made by
// NewSchemas and may be used by several goroutines.
type Schemas struct {
	mu    sync.Mutex
	kept  *simplelru.LRU[[sha256.Size]byte, *compiled]
	nodes int // of all kept schemas
}

// NewSchemas makes a Schemas that keeps size compiled schemas, 256 if size is less
// than 1. It keeps fewer when they are large.
func NewSchemas(size int) *Schemas {
	if size < 1 {
		size = defaultSchemas
	}
	s := new(Schemas)
	s.kept, _ = simplelru.NewLRU(size, func(_ [sha256.Size]byte, c *compiled) { s.nodes -= c.kept }) // fails for no size alone
	return s
}

// compiled is a schema that is ready to check with, or is known to be of no use.
type compiled struct {
	once sync.Once
	kept int // nodes that count for Schemas; under its lock

	mu    sync.Mutex // the meter serves one check at a time
	root  *jsonschema.Schema
	meter meter
	nodes int
	known map[string]*jsonschema.Schema // by location
	quick *quick                        // nil: it says too much for that
}

// Check checks arguments, which are strict JSON as [Args] gives it, against a tool's
// schema of any draft. The problem is nil if they fit. checked is false if that
// cannot be told, and then there is no problem: the schema does not compile, has
// more than 256 KiB, refers to something outside of itself, uses what cannot be
// checked here, or takes too many steps. That is never the call's fault; the caller
// reports it once per tool.
//
// Formats are not checked, as JSON Schema has it by default, and neither are
// patterns that Go's regular expressions cannot say. A problem's words name members,
// types and what the schema says, never a value of the arguments.
func (s *Schemas) Check(parameters, args []byte) (problem *Problem, checked bool) {
	return s.check(parameters, args, false)
}

// check is Check; whole says that the text is an answer, of which a member that is missing is the
// place of the problem.
func (s *Schemas) check(parameters, args []byte, whole bool) (problem *Problem, checked bool) {
	switch text := bytes.TrimSpace(parameters); {
	case len(text) == 0 || string(text) == "{}" || string(text) == "true" || string(text) == "null":
		return nil, true
	case len(text) > maxSchema:
		return nil, false
	}
	c := s.schema(parameters)
	if c.root == nil {
		return nil, false
	}
	if c.quick != nil && c.quick.fits(args) {
		return nil, true
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		_, _, problem := JSON(args, 0)
		return problem, problem != nil
	}
	if depth, _ := wire.Depth(args, mostDepth); depth > mostDepth || !modest(value) {
		return nil, false
	}
	return c.check(value, len(args), whole)
}

// schema returns the compiled form of a schema.
func (s *Schemas) schema(parameters []byte) *compiled {
	key := sha256.Sum256(parameters)
	s.mu.Lock()
	c, found := s.kept.Get(key)
	if !found {
		c = new(compiled)
		s.kept.Add(key, c)
	}
	s.mu.Unlock()
	c.once.Do(func() {
		c.compile(parameters)
		s.mu.Lock()
		defer s.mu.Unlock()
		if now, found := s.kept.Peek(key); found && now == c {
			c.kept = c.nodes
			s.nodes += c.nodes
		}
		for s.nodes > keptNodes && s.kept.Len() > 1 {
			s.kept.RemoveOldest()
		}
	})
	return c
}

// check runs the validation, which stops when it has used up its steps.
func (c *compiled) check(value any, size int, whole bool) (problem *Problem, checked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A panic is the meter's, or that of a schema that the library cannot follow.
	defer func() {
		if recover() != nil {
			problem, checked = nil, false
		}
	}()
	c.meter.left = steps(value, size)
	err := c.root.Validate(value)
	if err == nil {
		return nil, true
	}
	e := explainer{known: c.known, value: value, whole: whole}
	return e.problem(err)
}
