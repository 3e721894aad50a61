package config

// ForgetSecretFiles makes a Config one that was not read from files.
func (c *Config) ForgetSecretFiles() { c.secretFiles = nil }
