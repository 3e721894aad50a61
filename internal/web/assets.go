package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
)

// hashes are the addresses of the files that pages load. What a file holds is in its
// address: browsers keep it for ever, and ask for another one when it is another.
func hashes() map[string]string {
	files, err := pageFiles.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	all := map[string]string{}
	for _, f := range files {
		text, err := pageFiles.ReadFile("assets/" + f.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(text)
		all[f.Name()] = "/assets/" + f.Name() + "?v=" + base64.RawURLEncoding.EncodeToString(sum[:9])
	}
	return all
}

func (s *site) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	w.Header().Set("Cache-Control", "no-cache")
	if known := s.assets[name]; known != "" && known == "/assets/"+name+"?"+r.URL.RawQuery {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeFileFS(w, r, pageFiles, "assets/"+name)
}
