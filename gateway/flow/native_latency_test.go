package flow_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// watched is a provider that notes, whenever its next block is asked for, how many
// bytes of the blocks before are not out yet.
type watched struct {
	*scripted
	out     int   // bytes that are out
	waiting []int // behind each block but the last
}

func (w *watched) raw(blocks int) int {
	n := 0
	for _, b := range w.blocks[:blocks] {
		n += len(b) + len("\n\n")
	}
	return n
}

// watchedReply asks for blocks on behalf of a watched provider.
type watchedReply struct {
	gateway.Reply
	from   *watched
	read   int
	memory []byte // of the frame before
}

func (r *watchedReply) Next() (*gateway.Frame, error) {
	if r.read > 0 {
		r.from.waiting = append(r.from.waiting, r.from.raw(r.read)-r.from.out)
	}
	r.read++
	f, err := r.Reply.Next()
	clear(r.memory) // a frame is valid until the next one
	if err != nil {
		return f, err
	}
	r.memory = bytes.Clone(f.Raw)
	if at := bytes.Index(f.Raw, f.Data); f.Data != nil {
		f.Data = r.memory[at : at+len(f.Data)]
	}
	f.Raw = r.memory
	return f, nil
}

// forecastRequest offers a tool with a parameter that is no string.
const forecastRequest = `{"model":"m","stream":true,"messages":[],"tools":[
  {"type":"function","function":{"name":"forecast","parameters":{"type":"object","properties":{"days":{"type":["integer","null"]}}}}},
  {"type":"function","function":{"name":"get_time"}}]}`

// drain reads an answer to its end and notes what is out.
func (w *watched) drain(t failer, target gateway.Target) (string, *gateway.Response) {
	t.Helper()
	resp := open(t, providerFunc(func() gateway.Reply {
		return &watchedReply{Reply: &reply{scripted: w.scripted}, from: w}
	}), target, forecastRequest)
	defer resp.Close()
	var out strings.Builder
	for in := reads(resp); ; {
		b, err := in.next()
		out.Write(b)
		w.out = out.Len()
		if err == io.EOF {
			return out.String(), resp
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestNativeLatency holds how long the letters of arguments wait when they come one by
// one: only as long as a repair may change them. In the masks ^ is a letter that waits
// for the next.
func TestNativeLatency(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args, mask string }{
		{"a string that may be a number", `{"days":"x"}`,
			/*                           */ `........^^..`},
		{"object", `{"city": "Oslo", "days": 3}`,
			/*    */ `...............^^..........`},
		{"many numbers", `{"a":-1.5e3,"b":[1,22]}`,
			/*          */ `...........^......^....`},
		{"words", `{"a":true,"b":null}`,
			/*   */ `.....^^^.^....^^^..`},
		{"white space", "{ \"a\" : 1 ,\n\"b\":\t2 } ",
			/*        */ "..........^^........^"},
		{"nested", `{"a":[{"b":{}},[]],"c":{}}`,
			/*    */ `..............^...^.......`},
		{"comma in a string", `{"a": "x, y, z}"}`,
			/*               */ `.................`},
		{"escapes", `{"a":"\n\u00e9"}`,
			/*     */ `......^.^^^^^...`},
		{"letters of two bytes", `{"a":"é"}`,
			/*                  */ `.........`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := &watched{scripted: &scripted{blocks: []string{
				entry(`"index":0,"id":"a","type":"function","function":{"name":"forecast","arguments":""}`),
			}}}
			for _, letter := range tt.args {
				w.blocks = append(w.blocks, entry(fmt.Sprintf(`"index":0,"function":{"arguments":%s}`, quoted(string(letter)))))
			}
			w.blocks = append(w.blocks, block(0, `"delta":{},"finish_reason":"tool_calls"`), done)
			out, resp := w.drain(t, gateway.Target{Mode: gateway.Repair})
			if want := w.scripted.raw(); withoutComments(out) != want || resp.Summary.Changed {
				t.Errorf("got\n%s\nwant\n%s", out, want)
			}
			var mask strings.Builder
			for _, n := range w.waiting[1 : len(w.waiting)-2] {
				mask.WriteByte(".^"[min(n, 1)])
			}
			if mask.String() != tt.mask {
				t.Errorf("got\n%s\n%s\nwant\n%s", tt.args, mask.String(), tt.mask)
			}
		})
	}
}
