package run

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/internal/plaintext"
)

// ledger is what calls have given in the rounds of a request.
type ledger struct {
	policy  *Policy
	ran     []gateway.Fact
	done    []*done
	seen    map[[sha256.Size]byte]bool // a tool, its arguments and the result
	idle    int                        // rounds without anything new, in a row
	bytes   int                        // of all results
	tainted bool                       // a result may hold a stranger's text
	rounds  []round                    // those of this request so far
}

// round is a turn of the model and what its calls gave.
type round struct {
	turn *turn
	done []*done
}

// done is a call that is over.
type done struct {
	call     *call
	tool     *toolserver.Tool // nil for an unknown name
	args     string           // canonical
	text     string           // what it gave
	cut      int              // bytes that are missing at the text's end
	own      bool             // the tool says itself that it failed
	failed   bool             // it does, or its text does
	dropped  []string
	err      *toolserver.Error // why it gave nothing
	near     []string          // other tools
	attempts int
	took     time.Duration
}

// newLedger makes the ledger of a request, with nothing in it.
func newLedger(p *Policy) *ledger {
	return &ledger{policy: p, seen: map[[sha256.Size]byte]bool{}}
}

func (l *ledger) any() bool { return len(l.done) > 0 }

// add notes the calls of a round, and whether they brought anything new.
func (l *ledger) add(round []*done) {
	news := false
	for _, d := range round {
		key := d.key()
		news = news || !l.seen[key]
		l.seen[key] = true
		l.done = append(l.done, d)
		ran := gateway.Fact{ID: d.call.id, Failed: d.failed || d.err != nil}
		if d.tool != nil {
			switch d.tool.Effect {
			case toolserver.Reads:
				ran.Kind = gateway.CallReads
			case toolserver.Writes:
				ran.Kind = gateway.CallChanges
			}
			l.tainted = l.tainted || d.err == nil && d.tool.Untrusted
		}
		l.ran = append(l.ran, ran)
	}
	if l.idle++; news {
		l.idle = 0
	}
}

// key stands for the tool, its arguments and what it gave.
func (d *done) key() (key [sha256.Size]byte) {
	h := sha256.New()
	for _, part := range [...]string{d.call.name, d.args, d.kind(), d.text} {
		fmt.Fprintf(h, "%d ", len(part))
		io.WriteString(h, part) //nolint:errcheck // a hash takes all
	}
	h.Sum(key[:0])
	return key
}

// kind is what became of the call, in a word.
func (d *done) kind() string {
	switch {
	case d.err != nil:
		return string(d.err.Kind)
	case d.failed:
		return "failed"
	}
	return "ok"
}

// maxReported is how many bytes of a result a partial answer has, and maxReport of all.
const (
	maxReported = 2 << 10
	maxReport   = 16 << 10
)

// report is what a client gets where the model cannot tell it.
func (l *ledger) report(stop gateway.ToolStop, why string) string {
	reasons := map[gateway.ToolStop]string{
		gateway.StopRounds: "there were too many rounds of tools", gateway.StopTime: "the time for it is over",
		gateway.StopIdle: "the tools brought nothing new any more", gateway.StopError: "the model could not be asked any more",
	}
	var b strings.Builder
	fmt.Fprintf(&b, "This answer is not complete: %s (%s).", reasons[stop], strings.TrimSuffix(why, "."))
	b.WriteString(" What the tools found:\n")
	for _, d := range l.done {
		if b.Len() > maxReport {
			b.WriteString("\n- …")
			break
		}
		what := d.text
		if d.err != nil {
			what = d.err.Message
		}
		fmt.Fprintf(&b, "\n- %s: %s", d.call.name, plaintext.Excerpt(what, maxReported))
	}
	return b.String()
}

// before are the messages of the rounds so far, each with a comma behind it, without the texts,
// which the client has.
func (l *ledger) before(o *offer) (messages []byte) {
	for _, r := range l.rounds {
		mute := *r.turn
		mute.text = nil
		messages = append(append(messages, mute.message(callsOf(r.done))...), ',')
		for _, d := range r.done {
			messages = append(append(messages, resultMessage(d.call.id, o.content(d, ""))...), ',')
		}
	}
	return messages
}
