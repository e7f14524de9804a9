package yamldoc

import (
	"strconv"
	"strings"
)

// Path leads to a value: keys with dots, others in brackets, as in
// models["Qwen/Qwen3"].targets[0]. That of the whole file is empty.
type Path string

// Key is the path of the value of a key in the mapping at p.
func (p Path) Key(k string) Path {
	if !isSimple(k) {
		return p + Path("["+strconv.Quote(k)+"]")
	}
	if p == "" {
		return Path(k)
	}
	return p + "." + Path(k)
}

// At is the path of an element of the list at p, counted from 0.
func (p Path) At(i int) Path { return p + Path("["+strconv.Itoa(i)+"]") }

// Parent returns the path without its last step. A quoted key cannot hold `["`,
// because quoting puts a backslash between the two.
func (p Path) Parent() Path {
	text := string(p)
	end := strings.LastIndexByte(text, '.')
	if strings.HasSuffix(text, `"]`) {
		end = strings.LastIndex(text, `["`)
	} else if strings.HasSuffix(text, "]") {
		end = strings.LastIndexByte(text, '[')
	}
	return Path(text[:max(end, 0)])
}

// isSimple reports whether a key can stand in a path as it is.
func isSimple(key string) bool {
	return key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
