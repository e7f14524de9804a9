package anthropic

import "strconv"

// detailFormat is what OpenRouter calls Claude's thinking in reasoning_details. Others have formats of
// their own, which Anthropic cannot read.
const detailFormat = "anthropic-claude-v1"

// detail is a block of thinking as an entry of reasoning_details, the form that OpenRouter has given
// it and that its clients send back.
func detail(block value, index int) value {
	m := fields(block)
	var o object
	if text(m["type"]) == "redacted_thinking" {
		o.setString("type", "reasoning.encrypted")
		o.setGiven("data", m["data"])
	} else {
		o.setString("type", "reasoning.text")
		o.setGiven("text", m["thinking"])
		o.setGiven("signature", m["signature"])
	}
	o.setString("format", detailFormat)
	o.set("index", value(strconv.Itoa(index)))
	return o.close()
}

// thoughtsOf are the blocks of thinking that entries of reasoning_details stand for; those of other
// vendors, and what nobody has signed, are left out. lost says that there were some.
func thoughtsOf(details value) (blocks []value, lost bool) {
	_ = elements(details, func(_ int, v value) error {
		m := fields(v)
		var o object
		switch kind := text(m["type"]); {
		case text(m["format"]) != detailFormat:
			lost = true
			return nil
		case kind == "reasoning.text" && text(m["signature"]) != "":
			thought := m["text"]
			if thought == nil {
				thought = value(`""`)
			}
			o.setString("type", "thinking")
			o.set("thinking", thought)
			o.set("signature", m["signature"])
		case kind == "reasoning.encrypted" && isString(m["data"]):
			o.setString("type", "redacted_thinking")
			o.set("data", m["data"])
		default:
			lost = true
			return nil
		}
		blocks = append(blocks, o.close())
		return nil
	})
	return blocks, lost
}
