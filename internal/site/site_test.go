package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const repo = "../.."

// readSite builds the site of this repository and returns its files.
func readSite(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site")
	if _, err := build(repo, dir); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		place, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(place)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	reference = regexp.MustCompile(`(href|src)="([^"]*)"`)
	outside   = regexp.MustCompile(`^(?:https?://|data:|mailto:)`)
)

// TestLinks holds that every link of every page leads to a page and a heading of it that are
// there, or to a file of the repository that is there, and that no page loads anything from
// elsewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	files := readSite(t)
	pages, links, anchored := 0, 0, 0
	for name, text := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		pages++
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			links++
			to := m[2]
			if file, ok := strings.CutPrefix(to, repository); ok {
				file, _, _ = strings.Cut(file, "#")
				if _, err := os.Stat(filepath.Join(repo, file)); err != nil {
					t.Errorf("%s links to %s, which is not in the repository", name, file)
				}
				continue
			}
			if outside.MatchString(to) {
				if m[1] == "src" {
					t.Errorf("%s loads %s from elsewhere", name, to)
				}
				continue
			}
			file, fragment, _ := strings.Cut(to, "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, ok := files[target]; !ok {
				t.Errorf("%s links to %s, which is not there", name, to)
			}
			if fragment != "" {
				if anchored++; !strings.Contains(files[target], ` id="`+fragment+`"`) {
					t.Errorf("%s links to %s, and there is no such heading", name, to)
				}
			}
		}
	}
	if pages < 29 || links < 29*29 || anchored < 45 {
		t.Errorf("got %d pages, %d links and %d of them to headings, want more: are they found?", pages, links, anchored)
	}
}

// TestPages holds that each document of the README's list is a page, that each page leads to all,
// and that it says which it is.
func TestPages(t *testing.T) {
	t.Parallel()
	files := readSite(t)
	names, err := filepath.Glob(filepath.Join(repo, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		page := "docs/" + strings.TrimSuffix(filepath.Base(name), ".md") + ".html"
		text := files[page]
		if strings.Count(text, `aria-current="page"`) != 1 || strings.Count(text, "<h1") != 1 {
			t.Errorf("%s is not there, or has not one heading and one place in the list", page)
		}
		if !strings.Contains(files["index.html"], `<li><a href="`+page+`"`) {
			t.Errorf("index.html does not lead to %s", page)
		}
	}
	_, list, _ := strings.Cut(files["index.html"], "<nav")
	quickstart, settings := strings.Index(list, ">Quickstart</a>"), strings.Index(list, ">Settings</a>")
	if quickstart < 0 || settings < quickstart {
		t.Errorf("got Quickstart at %d and Settings at %d, want the README's order", quickstart, settings)
	}
	if want := "<title>Callgate</title>"; !strings.Contains(files["index.html"], want) {
		t.Errorf("index.html has no %s", want)
	}
}

// TestIndex holds that search has each part of each page, with its text and without markup, and
// that what it leads to is there.
func TestIndex(t *testing.T) {
	t.Parallel()
	files := readSite(t)
	text, _ := strings.CutPrefix(strings.TrimSuffix(files["index.js"], ";\n"), "const parts = ")
	var parts []found
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		file, fragment, _ := strings.Cut(p.URL, "#")
		if files[file] == "" || fragment != "" && !strings.Contains(files[file], ` id="`+fragment+`"`) {
			t.Errorf("search leads to %s, which is not there", p.URL)
		}
	}
	i := slices.IndexFunc(parts, func(p found) bool { return p.URL == "docs/clients.html#langchain" })
	if i < 0 || parts[i].Page != "Clients" || parts[i].Title != "LangChain" || !strings.Contains(parts[i].Text, "pip install langchain-openai") || strings.Contains(parts[i].Text, "```") {
		t.Errorf("got no part for LangChain with its text among %d", len(parts))
	}
}

// TestBuildRefuses holds that no folder is removed which is no site, and that a link to what is not
// there and HTML that would be lost are errors.
func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(t.TempDir(), "kept")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := build(repo, kept); !errors.Is(err, errNotSite) {
		t.Errorf("got %v, want %v", err, errNotSite)
	}
	for text, want := range map[string]string{"[a](gone.md)": "gone.md, which is not there", "a <b>word</b>": "would be lost"} {
		from := t.TempDir()
		if err := os.WriteFile(filepath.Join(from, "README.md"), []byte("# A\n\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := build(from, filepath.Join(from, "site")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}
