package redis

import "context"

// GetUpTo is Get for a value that may be another program's, of any size: of a longer one it
// reads the first so many bytes. An empty value counts as none.
func (c *Client) GetUpTo(ctx context.Context, key string, most int) (value []byte, found bool, err error) {
	value, err = c.redis.GetRange(ctx, key, 0, int64(most)-1).Bytes()
	return value, err == nil && len(value) > 0, c.clean(err)
}
