//go:build linux || netbsd || openbsd

package profile

import ss "github.com/zalando/go-keyring/secret_service"

// isLocked reports whether the keyring would ask the person to unlock it.
func isLocked() bool {
	service, err := ss.NewSecretService()
	if err != nil {
		return true
	}
	property, err := service.GetLoginCollection().GetProperty("org.freedesktop.Secret.Collection.Locked")
	locked, ok := property.Value().(bool)
	return err != nil || !ok || locked
}
