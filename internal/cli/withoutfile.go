package cli

import (
	"path/filepath"

	"sluice/internal/config"
)

// keepsFolders are the commands that a broken file in the data folder must not
// hinder: one of them brings back a good one.
var keepsFolders = map[string]bool{"backup": true, "restore": true}

// withoutItsFile loads the settings once more, without the file that lies in the data
// folder, where that is what hinders a command that keeps the folder.
func (a *App) withoutItsFile(o *options, err error) error {
	named, _ := a.Env(config.EnvName("config"))
	if err == nil || !keepsFolders[o.origin.Command] || o.typed["config"] || named != "" {
		return err
	}
	broken, without := o.File, o.origin
	o.File, without.Files = "", nil
	if o.Load(without, false) != nil || filepath.Join(o.Service.DataDir, config.FileName) != broken {
		return err
	}
	say(a.screen, "sluice: warning: the settings in %s are not used: %v\n", broken, err)
	return nil
}
