package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/callgate/callgate/plugins/pluginstest"
)

// dropPlugins puts hostile files into the folder of plugins, in the n-th round, in place of those
// of the round before.
func dropPlugins(dir string, n int) error {
	if n%2 == 1 {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		for _, file := range files {
			_ = os.RemoveAll(file) // one that stays is as good
		}
		return err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	bombs := pluginstest.CompileBombs()
	files := map[string][]byte{
		"garbage.wasm": []byte("garbage"),
		"bomb.wasm":    bombs[n/2%len(bombs)].Wasm,
		"cut.wasm":     pluginstest.Guest{Manifest: pluginstest.Manifest("cut")}.Wasm()[:40],
		fmt.Sprintf("fine%d.wasm", n%8): pluginstest.Guest{Manifest: pluginstest.Manifest(fmt.Sprint("fine", n)),
			Funcs: []pluginstest.Func{pluginstest.Feed(pluginstest.Unreachable)}}.Wasm(),
		"fine-beside.wasm": pluginstest.Guest{Manifest: pluginstest.Manifest("beside")}.Wasm(),
	}
	if n%6 == 0 {
		files["slow.wasm"] = pluginstest.SlowToCompile(2 + n%5)
	}
	for name, b := range files {
		if err := os.WriteFile(at(name), b, 0o600); err != nil {
			return err
		}
	}
	fifos(at("pipe.wasm"), at("fine-beside.wasm.minisig"))
	_ = os.Symlink(at("self.wasm"), at("self.wasm"))
	_ = os.Symlink("/dev/zero", at("zero.wasm"))
	_ = os.Mkdir(at("directory.wasm"), 0o700)
	return nil
}
