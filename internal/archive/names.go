package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

const (
	historyPrefix = "history/"
	coldPrefix    = "cold/"
)

// longestSource is how much of a source's name a folder's name has, which file
// systems limit.
const longestSource = 180

// File is one file of the archive, as its name tells.
type File struct {
	// Key is where it lies in the bucket.
	Key string `json:"key"`
	// Source is as in the key: a name that is too long for a folder is
	// shortened.
	Source string `json:"source"`
	Day    string `json:"day"`
	Cold   bool   `json:"cold"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	// First and Last are when the first and the last value were stored.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`

	name             string // Key without its prefix
	dataSum, tailSum string
}

// sourceFolder is the part of a key that names a source.
func sourceFolder(source string) string {
	// Folders of some file systems have no colons and do not end with a dot, and
	// two dots lead elsewhere.
	name := strings.ReplaceAll(url.PathEscape(source), ":", "%3A")
	if cut, ends := strings.CutSuffix(name, "."); ends {
		name = cut + "%2E"
	}
	if len(name) > longestSource {
		sum := sha256.Sum256([]byte(source))
		name = name[:longestSource-17] + "~" + hex.EncodeToString(sum[:8])
	}
	return "source=" + name
}

// partition is the part of a key that names a source and a day.
func partition(source, day string) string { return sourceFolder(source) + "/day=" + day }

// nameOf is the name of a file that holds rows of one partition as data.
func nameOf(rows []row, data []byte) (string, error) {
	var c contents
	for i := range rows {
		if err := c.add(&rows[i]); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s/part-%d-%d-%d-%s%s.parquet", c.at, c.first, c.last, c.rows, dataSum(data), tailSum(data)), nil
}

// tailSize is enough of a file's end to tell whether an entity is in it.
const tailSize = 256 << 10

// dataSum stands for all bytes of a file.
func dataSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// tailSum stands for the last bytes of a file.
func tailSum(data []byte) string {
	sum := sha256.Sum256(data[max(0, len(data)-tailSize):])
	return hex.EncodeToString(sum[:4])
}

// contents is what the name of a file tells of its rows.
type contents struct {
	at                string
	first, last, rows int64
}

func (c *contents) add(r *row) error {
	at := partition(r.Source, r.day())
	if c.rows == 0 {
		*c = contents{at, r.StoredAt, r.StoredAt, 0}
	}
	if at != c.at {
		return domain.Errorf(domain.CodeCorrupt, "a file holds values of %s and of %s", c.at, at)
	}
	c.first, c.last = min(c.first, r.StoredAt), max(c.last, r.StoredAt)
	c.rows++
	return nil
}

var fileName = regexp.MustCompile(`^part-(-?\d+)-(-?\d+)-(\d+)-([0-9a-f]{32})([0-9a-f]{8})\.parquet$`)

// parseKey reads what a key tells; false if it is no file of the archive.
func parseKey(key string) (f File, ok bool) {
	f = File{Key: key}
	if f.name, f.Cold = strings.CutPrefix(key, coldPrefix); !f.Cold {
		if f.name, ok = strings.CutPrefix(key, historyPrefix); !ok {
			return f, false
		}
	}
	folders, file := path.Split(f.name)
	source, dayFolder, ok := strings.Cut(strings.TrimSuffix(folders, "/"), "/")
	source, isSource := strings.CutPrefix(source, "source=")
	var isDay bool
	f.Day, isDay = strings.CutPrefix(dayFolder, "day=")
	parts := fileName.FindStringSubmatch(file)
	if !ok || !isSource || !isDay || parts == nil {
		return f, false
	}
	var numbers [3]int64 // first, last, rows
	for i := range numbers {
		n, err := strconv.ParseInt(parts[i+1], 10, 64)
		if err != nil {
			return f, false
		}
		numbers[i] = n
	}
	f.First, f.Last, f.Rows = time.UnixMicro(numbers[0]).UTC(), time.UnixMicro(numbers[1]).UTC(), numbers[2]
	f.dataSum, f.tailSum = parts[4], parts[5]
	var err error
	if f.Source, err = url.PathUnescape(source); err != nil {
		f.Source = source
	}
	return f, true
}
