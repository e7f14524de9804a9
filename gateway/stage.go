package gateway

import (
	"context"
	"time"

	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

// Stage changes the frames of one attempt's answer on their way to the client, or looks at
// them. Stages stand in a row; each sees what the ones before it let through, and knows
// nothing of them. It is used by one goroutine.
type Stage interface {
	// Frame takes a frame and gives none, one or more on. The frame is borrowed: who keeps
	// it gives on, later, what its Own returns. An error ends the answer: the stages behind
	// this one are told of it, and nothing more comes.
	Frame(f *wire.Frame, next Sink) error
	// End comes once, when there are no more frames, and also if the client left. With
	// io.EOF the answer is complete: what is held goes out, or is an error. With any other
	// cause only what a client may see goes out, as it came.
	End(cause error, next Sink) error
}

// Sink takes frames. Who gives an owned frame on does not use it any more.
type Sink interface{ Put(f *wire.Frame) }

// Held are frames that a stage keeps until it knows what becomes of them.
type Held struct {
	Frames []*wire.Frame
	Bytes  int // of them as they came
	// Room is the memory that they are claimed of, and Full is why there was none for the last of
	// them, or nil.
	Room inflight.Hold
	Full error
}

// Add keeps a frame, and returns how many bytes it has. It is kept also if there is no room: the
// stage has to let go, or to fail.
func (h *Held) Add(f *wire.Frame) int {
	own := f.Own()
	h.Frames = append(h.Frames, own)
	h.Bytes += len(own.Raw)
	h.Full = h.Room.Fit(h.Bytes)
	return len(own.Raw)
}

// Take gives the frames away.
func (h *Held) Take() []*wire.Frame {
	frames := h.Frames
	_ = h.Room.Fit(0) // to shrink cannot fail
	*h = Held{Room: h.Room}
	return frames
}

// Release gives the frames on, and keeps their list's memory for the next ones.
func (h *Held) Release(next Sink) {
	frames := h.Frames
	_ = h.Room.Fit(0)
	h.Frames, h.Bytes, h.Full = frames[:0], 0, nil
	for _, f := range frames {
		next.Put(f)
	}
}

// Maker makes a stage for the answer of an attempt; it is made ready once and owns what
// answers share: limits, caches. It is safe for concurrent use.
type Maker interface {
	// Begin is called before the upstream is asked. It returns nil where there is nothing
	// to do. What it finds out goes into o, as far as its stage is the one that does.
	Begin(ctx context.Context, a *AttemptInfo, o *Outcome) (Stage, error)
}

// AttemptInfo describes an attempt to the stages of its answer, and to the policies that make
// its request. Nothing in it changes once the attempt has begun.
type AttemptInfo struct {
	Number          int // from 1 on
	Reason          Reason
	Provider, Model string // the model by the upstream's name
	Target          Target
	Needs           Needs
	// Asked is what the client sent, and Sent that with what was changed for all targets.
	Asked, Sent *Request
	// Demanded is the verdict on an answer without the call that is demanded now; nil if
	// none is.
	Demanded *Verdict
	// Fallbacks is how many attempts before went to another target than the one before
	// them, and Corrections are what the model was told to do better.
	Fallbacks   int
	Corrections []Correction
	// MayRedo says that a correction of the model is left in the budget.
	MayRedo bool
	// Room is the memory of the attempt's answer; nil has no bound.
	Room  *inflight.Claim
	Notes *Notes
	// Failure reads a frame that is an error in the place of an answer.
	Failure func(f *wire.Frame) *Error
	Began   time.Time
}

// Witness is a stage that is told of the request on its way out, and of a refusal.
type Witness interface {
	// Sent is told of the body that an adapter made of the request. An error keeps it from
	// the upstream.
	Sent(r *Request, body wire.Pieces) error
	// Refused returns the failure of the attempt, or another one in its place.
	Refused(e *Error) *Error
}

// RequestPolicy changes requests on their way to an upstream.
type RequestPolicy interface {
	// Apply returns what is to be changed in r, in places of r.Bytes, or an error that ends
	// the request. a is nil as long as no target is chosen. It may be called twice for one
	// attempt, and only the second time counts then.
	Apply(ctx context.Context, r *Request, a *AttemptInfo) (Amendment, error)
}

// Amendment is what a policy changes in a request, and what it found.
type Amendment struct {
	Edits []wire.Edit
	// Appended is how many messages of the gateway's own the edits add behind the others.
	Appended int
	// All says that the edits replace what other policies may have changed, so that theirs
	// come first.
	All bool
	// Repairs counts what was changed, by kind, and Warnings say what is odd.
	Repairs  map[string]int
	Warnings []string
	// Note adds to what is known of the request; it may be nil.
	Note func(n *Notes)
	// Refused reports whether an upstream that refuses the request may do so because of the
	// edits. They are left out then, and the upstream is asked again. It may be nil.
	Refused func(e *Error) bool
	// Warning is what is said then, and Confirmed is called when the upstream has answered
	// without the edits: they were at fault. Both may be empty.
	Warning   string
	Confirmed func()
}

// Notes are what policies have found out about a request before any upstream was asked.
type Notes struct {
	Choice       ToolChoice // of the request that goes out, before a call is demanded
	Rounds       *Rounds    // of tools; nil if there are none
	Turn         *Turn      // of the conversation; nil where nobody limits what it takes
	Resolver     Resolver   // nil: no argument is a reference
	References   Mode       // what is done about those that are
	PrefixChange *PrefixChange
}

// Resolver puts values in the place of arguments that refer to earlier results.
type Resolver interface {
	// Covers reports whether a tool has such arguments.
	Covers(tool string) bool
	// Resolve returns the arguments with the values. checked is false if not all of the
	// conversation could be looked at.
	Resolve(tool, args string) (out string, done []Resolution, problem *repair.Problem, checked bool)
}

// Redo is what an attempt that has failed asks for: another one at the same target, in which
// the model is told more. It is part of an [Error].
type Redo struct {
	Reason Reason
	// Remark is what the model is told, and Choice what tool_choice is to be, in JSON; ""
	// leaves it.
	Remark, Choice string
	// Pin is the one tool that tool_choice is to name, as long as the upstream takes that; ""
	// is none. It is for a call that the model has made already, and not for one that is
	// demanded.
	Pin string
	// Notes say what is corrected.
	Notes []Correction
	// Demanded is the verdict that demands a call.
	Demanded *Verdict
	// Else is the failure for the client where the upstream has something against the
	// demand, which the client did not make; nil is the upstream's own.
	Else *Error
}
