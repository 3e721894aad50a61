package declared

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"
	"golang.org/x/text/encoding/charmap"
)

// An answer of XML is read as if it were JSON: an element is an object of its
// attributes, as @name, and of the elements in it by their names with prefix; of several
// of one name a list; its text is #text, or all that it is where there is nothing else.
// Entities that a document declares are not known, so that none can grow.

const (
	// mostDepth is how deep elements may be within each other, and mostElements how many
	// there may be.
	mostDepth    = 64
	mostElements = 1_000_000
	// textMember is where the text of an element is that has attributes or elements.
	textMember = "#text"
)

// readXML reads the body as XML.
func (a *answer) readXML() {
	a.json = gjson.Result{}
	tree, err := xmlTree(a.body)
	if err != nil {
		a.wrong = shorten(firstLine(err), 200)
		return
	}
	a.json = gjson.ParseBytes(tree)
}

// element is one that is being read.
type element struct {
	name string
	// names are the members in the order in which they came, values what they hold.
	names  []string
	values map[string][]any
	text   strings.Builder
}

func (e *element) add(name string, value any) {
	if e.values == nil {
		e.values = map[string][]any{}
	}
	if len(e.values[name]) == 0 {
		e.names = append(e.names, name)
	}
	e.values[name] = append(e.values[name], value)
}

// value is what the element comes to.
func (e *element) value() any {
	text := strings.TrimSpace(e.text.String())
	if len(e.names) == 0 {
		return text
	}
	all := make(map[string]any, len(e.names)+1)
	for name, values := range e.values {
		if len(values) == 1 {
			all[name] = values[0]
			continue
		}
		all[name] = values
	}
	if text != "" {
		all[textMember] = text
	}
	return all
}

// xmlTree is a document of XML as JSON.
func xmlTree(text []byte) ([]byte, error) {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.Entity = xml.HTMLEntity
	decoder.CharsetReader = charset
	root := &element{}
	stack := []*element{root}
	for elements := 0; ; {
		// Raw, for prefixes are told as they are written: they are what paths name.
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		in := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if elements++; elements > mostElements || len(stack) > mostDepth {
				return nil, fmt.Errorf("it has more than %d elements, or more than %d within each other", mostElements, mostDepth)
			}
			stack = append(stack, began(t))
		case xml.EndElement:
			if len(stack) == 1 || in.name != named(t.Name) {
				return nil, fmt.Errorf("the element %s ends and did not begin", shorten(named(t.Name), 40))
			}
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].add(in.name, in.value())
		case xml.CharData:
			in.text.Write(t)
		}
	}
	if len(stack) > 1 || len(root.names) != 1 || strings.TrimSpace(root.text.String()) != "" {
		return nil, errors.New("it is not one element")
	}
	var all bytes.Buffer
	encoder := json.NewEncoder(&all)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(root.value())
	return bytes.TrimSpace(all.Bytes()), err
}

func began(t xml.StartElement) *element {
	e := &element{name: named(t.Name)}
	for _, a := range t.Attr {
		if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
			e.add("@"+named(a.Name), a.Value)
		}
	}
	return e
}

// named is a name as it is written.
func named(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// charset reads the encodings of which each byte is a character. Whoever says ISO 8859-1
// means Windows 1252, as everywhere on the web.
func charset(name string, from io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "utf-8", "utf8", "us-ascii", "ascii":
		return from, nil
	case "iso-8859-1", "latin1", "windows-1252":
		return charmap.Windows1252.NewDecoder().Reader(from), nil
	}
	return nil, fmt.Errorf("the encoding %s is not known", shorten(name, 40))
}
