package responses

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// passLifecycle takes an event of the response itself. The last one is kept until the response is stored.
func (p *passage) passLifecycle(e object, c *upstreamEvent) bool {
	switch kind := strings.TrimPrefix(c.kind, "response."); kind {
	case "created", "queued", inProgress:
		return p.passBegin(e, c, kind)
	case completed, incomplete:
		if !p.going || len(p.items) > 0 || !c.isEnd() || p.final != nil {
			return false
		}
		p.final = bytes.Clone(e)
		return true
	}
	return false
}

// passBegin takes an event from before the first item.
func (p *passage) passBegin(e object, c *upstreamEvent, kind string) bool {
	due := begun
	if kind == "created" {
		due = fresh
	}
	if p.going || p.answer.phase != due || p.machine.output.begun > 0 {
		return false
	}
	p.answer.phase = begun
	if kind == "created" {
		p.answer.takeCreated(c.response)
	}
	if model := c.response.get("model"); isString(model) {
		p.answer.model = slices.Clone(model)
	}
	if kind == "queued" || kind == "created" && p.answer.req.said > 0 {
		return true
	}
	p.going = kind == inProgress
	p.passResponse(e, c, p.answer.own(c.response, ending{status: inProgress}))
	return true
}

func (p *passage) passResponse(e object, c *upstreamEvent, response []byte) {
	edits := []wire.Edit{{At: wire.Find(e, wire.Span{End: len(e)}, "response"), With: response}}
	p.machine.pass(c.kind, wire.Splice(e, sorted(append(edits, p.machine.numbering(e, c.sequence)...))))
}
