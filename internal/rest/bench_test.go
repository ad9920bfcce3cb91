package rest_test

func client() bool { return false }
