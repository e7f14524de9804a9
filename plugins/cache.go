package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
)

// codeCache is compiled code in memory and, if there is a directory, on disk.
type codeCache struct {
	code wazero.CompilationCache
	dir  string
	log  *slog.Logger
	mu   sync.RWMutex // written to while the directory is emptied
}

func openCache(dir string, log *slog.Logger) (*codeCache, error) {
	c := &codeCache{dir: dir, log: log}
	if dir == "" {
		c.code = wazero.NewCompilationCache()
		return c, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !private(info) {
		return nil, fmt.Errorf("cache directory %s must belong to this user and be writable by nobody else (it is %s): it holds code that is run",
			dir, info.Mode())
	}
	opening.Lock()
	defer opening.Unlock()
	c.code, err = wazero.NewCompilationCacheWithDir(dir)
	return c, err
}

// opening guards wazero's opening of a cache, which remembers the library's version in
// a variable without a lock. Only a program of several hosts would meet it.
var opening sync.Mutex //nolint:gochecknoglobals // it is about a global of the library's

// compile compiles a module, or takes it from the cache. wazero fails for ever on
// a damaged file of the cache, and on one that it cannot write, so both are tried
// a second time: with the files gone, and with the code that is by then in memory.
func (c *codeCache) compile(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
	compiled, err := c.compileOnce(ctx, rt, wasm)
	var pathErr *fs.PathError
	switch {
	case err == nil || c.dir == "":
		return compiled, err
	case strings.Contains(err.Error(), "compilationcache:"):
		c.log.Warn("compiled code in the cache is damaged and is deleted", "dir", c.dir, "error", err)
		if err := c.empty(); err != nil {
			return nil, err
		}
	case errors.As(err, &pathErr):
		c.log.Warn("compiled code cannot be cached", "dir", c.dir, "error", err)
	default:
		return nil, err
	}
	return c.compileOnce(ctx, rt, wasm)
}

func (c *codeCache) compileOnce(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return rt.CompileModule(ctx, wasm)
}

// empty deletes the files of the cache. The directories stay, because wazero
// makes them only once, and so does what wazero has not written: the directory
// may have been configured by mistake.
func (c *codeCache) empty() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	files, err := filepath.Glob(filepath.Join(c.dir, "wazero-*", "*"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}
