package httptool

import "encoding/json"

// Address is where a call with these arguments goes.
func Address(url string, arguments json.RawMessage) (string, error) {
	t, err := parse(url)
	if err != nil {
		return "", err
	}
	args, err := members(arguments)
	if err != nil {
		return "", err
	}
	address, _, err := t.fill(args)
	return address, err
}
