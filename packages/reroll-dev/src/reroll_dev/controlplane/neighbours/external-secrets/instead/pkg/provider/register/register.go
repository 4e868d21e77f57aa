// Package register has the providers that need nothing from outside a cluster: the stock one has thirty clouds and vaults.
package register

import (
	_ "github.com/external-secrets/external-secrets/pkg/provider/fake"
	_ "github.com/external-secrets/external-secrets/pkg/provider/kubernetes"
)
