package gateway

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/sdk/abi"
)

// toolCache keeps what was read of lists of tools: an agent sends the same list with
// every request, and reading some dozens of schemas takes most of a millisecond. The
// key is the list itself, so that no client can get another's.
type toolCache struct {
	lists *lru.Cache[string, []abi.Tool]
}

// Bounds of the cache: together 8 MiB of keys.
const (
	maxToolLists = 128
	maxToolList  = 64 << 10 // bytes; a longer one is read each time
)

func newToolCache() *toolCache {
	lists, err := lru.New[string, []abi.Tool](maxToolLists)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &toolCache{lists}
}

// read is [ReadTools]. A list that is not made as OpenAI's is left to the upstream's own
// complaint: no name is known then. What it returns is shared, and not to be changed.
func (c *toolCache) read(list []byte) []abi.Tool {
	if len(list) == 0 {
		return nil
	}
	short := len(list) <= maxToolList
	if short {
		if tools, ok := c.lists.Get(string(list)); ok {
			return tools
		}
	}
	tools, err := ReadTools(list)
	if err != nil {
		return nil
	}
	if short {
		c.lists.Add(string(list), tools)
	}
	return tools
}
