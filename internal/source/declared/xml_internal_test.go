package declared

import (
	"strings"
	"testing"
)

// TestXML: a document of XML is read as the tree that paths name, and one that would
// grow, or is none, is refused.
func TestXML(t *testing.T) {
	for text, want := range map[string]string{
		`<?xml version="1.0"?><rss version="2.0"><channel><item><guid isPermaLink="false">a</guid><title>x &amp; &lt;y&gt;</title></item></channel></rss>`: `{"rss":{"@version":"2.0","channel":{"item":{"guid":{"#text":"a","@isPermaLink":"false"},"title":"x & <y>"}}}}`,
		`<a xmlns="u" xmlns:dc="v"><b>1</b><b>2</b><dc:c d="e"/><f/><!-- g --><![CDATA[<h>]]></a>`:                                                         `{"a":{"#text":"<h>","b":["1","2"],"dc:c":{"@d":"e"},"f":""}}`,
		"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9\x80</a>":                                                                                       `{"a":"é€"}`,
		`<a>&nbsp;x&#233;</a>`: `{"a":"xé"}`,
	} {
		got, err := xmlTree([]byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		`<!DOCTYPE a [<!ENTITY b "cccccccc"><!ENTITY d "&b;&b;">]><a>&d;</a>`: "invalid character entity",
		`<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>`:    "invalid character entity",
		strings.Repeat("<a>", 100):             "within each other",
		strings.Repeat("<a/>", mostElements+1): "more than",
		"<a></b>":                              "did not begin",
		"</a>":                                 "did not begin",
		"<a>":                                  "not one element",
		"<a/><b/>":                             "not one element",
		"":                                     "not one element",
		`{"a":1}`:                              "not one element",
		"<a b='c>":                             "",
		"<a>\x00</a>":                          "",
		"<?xml version='1.0' encoding='EBCDIC'?><a/>": "not known",
	} {
		if got, err := xmlTree([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s is %s, %v; want %q", text, got, err, says)
		}
	}
}

// FuzzXML: no text breaks what reads XML.
func FuzzXML(f *testing.F) {
	f.Add([]byte("<a b='c'><d/>e<d>f</d></a>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if tree, err := xmlTree(text); err == nil && len(tree) > 8*len(text)+16 {
			t.Errorf("%d bytes become %d", len(text), len(tree))
		}
	})
}
