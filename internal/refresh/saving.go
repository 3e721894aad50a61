package refresh

import "sluice/internal/domain"

// SaveBy is Snapshots.Save for a store that compresses bodies before it is their
// turn: try does it with the bodies that seem to be needed, and with everything if
// it turned out that more were.
func SaveBy(refreshed []Refreshed, try func(everything bool) (*SaveCall, error)) ([]Saved, error) {
	if err := CheckRefreshed(refreshed); err != nil || len(refreshed) == 0 {
		return nil, err
	}
	for everything := false; ; everything = true {
		call, err := try(everything)
		if err != nil {
			return nil, err
		}
		if !call.Again {
			return call.Answers, nil
		}
	}
}

// OneLetter is the letter of an id among those that were found.
func OneLetter(id string, found []DeadLetter, err error) (DeadLetter, error) {
	switch {
	case err != nil:
		return DeadLetter{}, err
	case len(found) == 0:
		return DeadLetter{}, domain.Errorf(domain.CodeNotFound, "there is no dead letter %s", id)
	}
	return found[0], nil
}
