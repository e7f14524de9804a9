package httpapi

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/internal/spelling"
)

// patch reads the name in the path, and which fields are to change.
func patch(c echo.Context) (name string, change map[string]jsontext.Value, err error) {
	if name, err = nameOf(c); err != nil {
		return "", nil, err
	}
	if err := readJSON(c, &change); err != nil {
		return "", nil, err
	}
	if _, there := change["name"]; there {
		return "", nil, &gateway.Error{Kind: gateway.Invalid, Param: "name", Message: "The name cannot be changed: make a new one, and delete this."}
	}
	return name, change, nil
}

// merged reads fields with a change put over them; null takes one away.
func merged(fields any, change map[string]jsontext.Value, into any) error {
	var all map[string]jsontext.Value
	text, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return err
	}
	for name, value := range change {
		all[name] = value
		if value.Kind() == 'n' {
			delete(all, name)
		}
	}
	if text, err = json.Marshal(all); err != nil {
		return err
	}
	return parseJSON(text, into)
}

// readJSON reads a request's body, an object; none is an empty one. Fields that are not known, or are
// there twice, are refused.
func readJSON(c echo.Context, into any) error {
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return &gateway.Error{Kind: gateway.Invalid, Message: "The body could not be read.", Err: err}
	}
	if len(body) == 0 {
		return nil
	}
	return parseJSON(body, into)
}

// parseJSON reads one object into into. Its errors say which field is wrong.
func parseJSON(body []byte, into any) error {
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return &gateway.Error{Kind: gateway.Invalid, Message: "The body is not one JSON object with distinct names.", Err: err}
	}
	place := strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
	what := "has a value of another type than this field takes"
	if errors.Is(err, json.ErrUnknownName) {
		what = "is not known here"
		if near := slips.Near(place, membersOf(into)); len(near) > 0 {
			what += fmt.Sprintf("; did you mean %q?", near[0])
			return &gateway.Error{Kind: gateway.Invalid, Param: place, Message: fmt.Sprintf("The field %q %s", gateway.ExcerptOf(place, 80), what), Err: err}
		}
	}
	return &gateway.Error{Kind: gateway.Invalid, Param: place, Message: fmt.Sprintf("The field %q %s.", gateway.ExcerptOf(place, 80), what), Err: err}
}

// slips finds the field that a wrong one may be a slip of.
var slips = spelling.Rule{Most: 1, Longest: 64, Changes: func(word, _ string) int { return (len(word) + 2) / 3 }}

// membersOf are the names of an object's members that are read into what v points to.
func membersOf(v any) (names []string) {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
