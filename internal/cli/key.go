package cli

import (
	"crypto/rand"
	"fmt"

	"github.com/callgate/callgate/gateway/config"
)

type keyCmd struct{}

// Run prints a new key and the hash that the configuration wants.
func (keyCmd) Run(e *env) error {
	key := "cg-" + rand.Text() + rand.Text()
	_, err := fmt.Fprintf(e.stdout, "key (give it to the client; it is not stored anywhere): %s\nhash (for keys: in the configuration): %s\n", key, config.HashKey(key))
	return err
}
