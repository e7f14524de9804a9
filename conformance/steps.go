package conformance

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Step is a line of client.http, upstream.http or upstream.sse: bytes to send, or what
// is done between them.
type Step struct {
	Do   Deed
	Text string        // of Send, and what Await waits for
	Wait time.Duration // of Pause
}

// Deed is what a step does.
type Deed string

// The deeds. Those of a client and those of an upstream differ; see checkSteps.
const (
	Send       Deed = "send"
	Pause      Deed = "wait"        // for a while
	Await      Deed = "await"       // the client waits until it has got some bytes
	AwaitAsked Deed = "await_asked" // the client waits until the upstream has got a request
	Close      Deed = "close"       // the client leaves
	CloseWrite Deed = "close_write" // the client has no more to say, and listens
	Hold       Deed = "hold"        // the upstream says nothing more until the gateway leaves
)

// The most that a case may ask for.
const (
	maxRepeated = 16 << 20
	maxPause    = 5 * time.Second
)

// setSteps reads a step a line: a JSON string is sent, an object is one of
//
//	{"repeat": 1000, "text": "["}  sends the text so often
//	{"hex": "ff"}                  sends bytes that no JSON string can hold
//	{"wait": "50ms"}
//	{"await": "data: "}
//	{"do": "await_asked"}          or "close", "close_write", "hold"
func setSteps(dst *[]Step, b []byte) error {
	*dst = []Step{}
	for line := range lines(b) {
		s, err := readStep(line)
		if err != nil {
			return fmt.Errorf("%w in %.80s", err, line)
		}
		*dst = append(*dst, s)
	}
	return nil
}

func readStep(line string) (Step, error) {
	if !strings.HasPrefix(line, "{") {
		s := Step{Do: Send}
		if err := json.Unmarshal([]byte(line), &s.Text); err != nil {
			return s, fmt.Errorf("each line must be a JSON string or a step: %w", err)
		}
		return s, nil
	}
	var o struct {
		Repeat      int
		Text, Await *string
		Hex         string
		Wait        string
		Do          Deed
	}
	if err := strict([]byte(line), &o); err != nil {
		return Step{}, err
	}
	switch {
	case o.Text != nil && o.Repeat > 0 && o.Repeat*len(*o.Text) <= maxRepeated:
		return Step{Do: Send, Text: strings.Repeat(*o.Text, o.Repeat)}, nil
	case o.Text != nil:
		return Step{}, fmt.Errorf("repeat is above 0, and gives no more than %d bytes", maxRepeated)
	case o.Hex != "":
		b, err := hex.DecodeString(o.Hex)
		return Step{Do: Send, Text: string(b)}, err
	case o.Await != nil:
		return Step{Do: Await, Text: *o.Await}, nil
	case o.Wait != "":
		d, err := time.ParseDuration(o.Wait)
		if err == nil && (d <= 0 || d > maxPause) {
			err = fmt.Errorf("a wait is above 0, and no more than %v", maxPause)
		}
		return Step{Do: Pause, Wait: d}, err
	}
	switch o.Do {
	case AwaitAsked, Close, CloseWrite, Hold:
		return Step{Do: o.Do}, nil
	}
	return Step{}, errors.New("a step has one of text, hex, await, wait, do")
}

// checkSteps refuses what one side of a connection cannot do.
func checkSteps(file string, steps []Step, deeds ...Deed) error {
	for _, s := range steps {
		if !slices.Contains(deeds, s.Do) {
			return fmt.Errorf("%s cannot have the step %q", file, s.Do)
		}
	}
	return nil
}

// sent is all the bytes of steps.
func sent(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		if s.Do == Send {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}
