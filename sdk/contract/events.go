package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Format writes events as text, one a line, as golden files hold them.
func Format(events []sdk.Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.Kind.String())
		switch e.Kind {
		case abi.Content, abi.Reasoning:
			fmt.Fprintf(&b, " %s", quote(e.Text))
		case abi.CallStart:
			fmt.Fprintf(&b, " %d %s", e.Index, quote(e.Name))
			if e.ID != "" {
				fmt.Fprintf(&b, " %s", quote(e.ID))
			}
		case abi.Args:
			fmt.Fprintf(&b, " %d %s", e.Index, quote(e.Text))
		case abi.CallEnd, abi.Cut:
			fmt.Fprintf(&b, " %d", e.Index)
		case abi.Malformed:
			fmt.Fprintf(&b, " %d %d", e.From, e.To)
		case abi.End:
			fmt.Fprintf(&b, " %d", e.To)
		case abi.Repair:
			b.WriteString(" " + e.Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// quote writes s as a JSON string if that can be read back, else as a Go string.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	var back string
	if enc.Encode(s) == nil && json.Unmarshal([]byte(b.String()), &back) == nil && back == s {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return fmt.Sprintf("%+q", s)
}

// checker follows the events of one region.
type checker struct {
	fed   int
	next  int // index of the next call
	open  bool
	args  strings.Builder
	ended bool
}

// Join puts neighbours together that only the cut has separated: texts and arguments
// that follow each other.
func Join(events []sdk.Event) []sdk.Event {
	var joined []sdk.Event
	for i := 0; i < len(events); {
		e := events[i]
		next := i + 1
		if e.Kind == abi.Args || e.Kind == abi.Content || e.Kind == abi.Reasoning {
			var text strings.Builder // very many pieces may follow each other
			text.WriteString(e.Text)
			for ; next < len(events) && events[next].Kind == e.Kind && events[next].Index == e.Index; next++ {
				text.WriteString(events[next].Text)
			}
			e.Text = text.String()
		}
		joined = append(joined, e)
		i = next
	}
	return joined
}

// Check says which rule the joined events of a region of fed bytes break, or nil. The
// region must have been finished.
func Check(events []sdk.Event, fed int) error {
	c := checker{fed: fed}
	for i, e := range events {
		if c.ended {
			return fmt.Errorf("event %d (%s) comes after the end of the region", i, e.Kind)
		}
		if err := c.event(e); err != nil {
			return fmt.Errorf("event %d (%s): %w", i, e.Kind, err)
		}
	}
	if !c.ended {
		return errors.New("the region was not ended by Finish")
	}
	return nil
}

func (c *checker) event(e sdk.Event) error {
	switch e.Kind {
	case abi.CallStart, abi.Args, abi.CallEnd:
		return c.call(e)
	case abi.Cut:
		c.open = false
	case abi.Repair:
		if e.Name == "" {
			return errors.New("it does not say what was repaired")
		}
	case abi.Malformed:
		if e.From > e.To || e.To > c.fed {
			return fmt.Errorf("bytes %d to %d of %d", e.From, e.To, c.fed)
		}
		if e.To == 0 && c.fed > 0 {
			return errors.New("nothing is given back, the gateway would ask forever")
		}
		c.ended = true
	case abi.Content, abi.Reasoning:
	case abi.End:
		if c.open {
			return fmt.Errorf("call %d is still open", c.next-1)
		}
		if e.To > c.fed {
			return fmt.Errorf("byte %d of %d", e.To, c.fed)
		}
		c.ended = true
	}
	return nil
}

func (c *checker) call(e sdk.Event) error {
	if e.Kind == abi.CallStart {
		if c.open || e.Index != c.next || e.Name == "" {
			return fmt.Errorf("call %d %q, want call %d with a name, and no other open", e.Index, e.Name, c.next)
		}
		c.open = true
		c.next++
		c.args.Reset()
		return nil
	}
	if !c.open || e.Index != c.next-1 {
		return fmt.Errorf("call %d is not the open one", e.Index)
	}
	if e.Kind == abi.Args {
		c.args.WriteString(e.Text)
		return nil
	}
	c.open = false
	args := c.args.String()
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(args), &object); err != nil {
		return fmt.Errorf("the arguments are not a JSON object: %q (%w)", args, err)
	}
	if !strings.HasPrefix(args, "{") { // null, or white space before it
		return fmt.Errorf("the arguments are not a JSON object: %q", args)
	}
	return nil
}
