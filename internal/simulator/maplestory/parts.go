package maplestory

import "strings"

// part is one of the endpoints below /character.
type part uint8

// The parts that the simulator has. itemEquipment is the large one.
const (
	itemEquipment part = iota
	basic
	stat
	popularity
	ability
	symbolEquipment
	parts
)

var partNames = [parts]string{"item-equipment", "basic", "stat", "popularity", "ability", "symbol-equipment"}

func partNamed(name string) (part, bool) {
	for p, known := range partNames {
		if name == known {
			return part(p), true
		}
	}
	return 0, false
}

// splitKey reads "part:ocid"; an ocid alone means its equipment.
func splitKey(key string) (p part, ocid string, ok bool) {
	name, ocid, found := strings.Cut(key, ":")
	if !found {
		return itemEquipment, key, true
	}
	p, ok = partNamed(name)
	return p, ocid, ok
}
