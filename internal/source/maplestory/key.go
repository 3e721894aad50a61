package maplestory

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"sluice/internal/domain"
)

const (
	// DefaultPart is the part that an ocid alone means.
	DefaultPart = "item-equipment"
	// NamePart is the part of names: what the API tells of one is its ocid.
	NamePart = "id"
)

// Parts are what can be asked of a character.
func Parts() []string {
	return []string{
		"ability", "android-equipment", "basic", "beauty-equipment", "cashitem-equipment", "dojang", "hexamatrix",
		"hexamatrix-stat", "hyper-stat", "item-equipment", "link-skill", "other-stat", "pet-equipment", "popularity",
		"propensity", "set-effect", "stat", "symbol-equipment", "vmatrix",
	}
}

const (
	// maxOcid bounds the length of an ocid; those that were seen have 32 or 64.
	maxOcid = 128
	// maxName bounds the letters of a name; the game allows twelve.
	maxName = 24
)

// CanonicalKey writes a key as "part:ocid"; an ocid alone means its
// item-equipment. A key "id:name" asks for the ocid of a name. What no call can
// be made for is an error of code invalid.
func CanonicalKey(key string) (string, error) {
	part, rest, found := strings.Cut(key, ":")
	if !found {
		part, rest = DefaultPart, key
	}
	if part == NamePart {
		name, err := canonicalName(rest)
		if err != nil {
			return "", err
		}
		return part + ":" + name, nil
	}
	if !slices.Contains(Parts(), part) {
		return "", domain.Errorf(domain.CodeInvalid, "maplestory: a key begins with no known part; give one of %s, or id for a name", strings.Join(Parts(), ", "))
	}
	if rest == "" || len(rest) > maxOcid || strings.ContainsFunc(rest, isNoOcidCharacter) {
		return "", domain.Errorf(domain.CodeInvalid, "maplestory: a key has no ocid; give up to %d letters and digits, as the key id:NAME tells them", maxOcid)
	}
	return part + ":" + rest, nil
}

func isNoOcidCharacter(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
}

// canonicalName puts a name into the one form that it has in the game: some
// systems take syllables apart.
func canonicalName(name string) (string, error) {
	name = norm.NFC.String(name)
	if name == "" || utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, isNoNameCharacter) {
		return "", domain.Errorf(domain.CodeInvalid, "maplestory: this is not a character's name; give up to %d letters and digits", maxName)
	}
	return name, nil
}

func isNoNameCharacter(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// CheckKey refuses keys that no call can be made for, before any is made, and
// writes the others in their one spelling.
func (s *Source) CheckKey(key string) (string, error) { return CanonicalKey(key) }

// endpoint is where a canonical key is asked for.
func endpoint(key string) (part, path, query string) {
	part, rest, _ := strings.Cut(key, ":")
	if part == NamePart {
		return part, "/maplestory/v1/id", url.Values{"character_name": {rest}}.Encode()
	}
	return part, "/maplestory/v1/character/" + part, "ocid=" + rest
}
