package responses

import (
	"fmt"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// input are the items that a request is made of.
type input struct {
	items    [][]byte // the request's own
	earlier  [][]byte // those in front of them
	replaced bool     // its own are not as they came
}

// read splits the field "input" into items.
func (in *input) read(field []byte) error {
	switch {
	case field == nil:
		return nil // with an earlier response it may be missing
	case field[0] == '"':
		in.items = [][]byte{slices.Concat([]byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":`), field, []byte("}]}"))}
		return nil
	case field[0] != '[':
		return invalid("input", "The field \"input\" must be a string or an array of items, not %s.", gateway.Excerpt(field))
	}
	var err error
	wire.Elements(field, 0, func(n int, v wire.Span) bool {
		switch {
		case n >= maxItems:
			err = invalid("input", "The field \"input\" has more than %d items.", maxItems)
		case field[v.Start] != '{':
			err = invalid(fmt.Sprintf("input[%d]", n), "input[%d] must be an object, not %s.", n, gateway.Excerpt(v.Of(field)))
		}
		in.items = append(in.items, v.Of(field))
		return err == nil
	})
	return err
}

// NewItems are the items of the request itself, as they came; a text as a message.
func (in *input) NewItems() [][]byte { return in.items }

// SetItems puts items in the place of the request's own, such as those that references stand
// for. It must be called before Translate.
func (in *input) SetItems(items [][]byte) { in.items, in.replaced = items, true }

// Prepend puts the items of earlier responses in front of those that are there. It must be
// called before Translate.
func (in *input) Prepend(items [][]byte) {
	in.earlier = append(items[:len(items):len(items)], in.earlier...)
}

// SetEarlier puts items in the place of those that Prepend has put in front. Translate is to be
// called then, again if it was called before.
func (in *input) SetEarlier(items [][]byte) { in.earlier = items }

// Reference is an item of the request that stands for another one.
type Reference struct {
	At int // its place in NewItems
	ID string
}

// References are the items of the request that stand for stored ones.
func (in *input) References() (list []Reference) {
	for i, item := range in.items {
		if itemType(item) == "item_reference" {
			list = append(list, Reference{i, wire.Unquote(object(item).get("id"))})
		}
	}
	return list
}
