package mysql

import "testing"

func TestCheckVersion(t *testing.T) {
	for text, fine := range map[string]bool{
		"8.0.13": true, "8.0.36-28.1": true, "8.4.0": true, "9.1.0": true, "8.0.12": false, "5.7.44-log": false, "": false, "what": false,
		"10.6.0-MariaDB": true, "10.11.6-MariaDB-0+deb12u1": true, "11.4.2-MariaDB": true, "5.5.5-10.6.12-MariaDB-log": true,
		"10.5.23-MariaDB": false, "5.5.5-10.3.39-MariaDB": false,
	} {
		if err := checkVersion(text); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
}
