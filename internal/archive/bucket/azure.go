package bucket

import (
	"context"

	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"sluice/internal/domain"
)

// openAzure makes a client of a container. Credentials are what is found in the
// AZURE_… variables, or the machine's identity.
func (r remote) openAzure(ctx context.Context) (*blob.Bucket, error) {
	service := azureblob.NewDefaultServiceURLOptions()
	if service.AccountName == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the storage account of the archive in azblob://%s is not known; set AZURE_STORAGE_ACCOUNT", r.name)
	}
	// A token may be part of the address from here on: no error of what follows
	// is repeated.
	address, err := azureblob.NewServiceURL(service)
	if err != nil {
		return nil, r.unreadable()
	}
	client, err := azureblob.NewDefaultClient(address, azureblob.ContainerName(r.name))
	if err != nil {
		return nil, r.unreadable()
	}
	bucket, err := azureblob.OpenBucket(ctx, client, nil)
	if err != nil {
		return nil, r.unreadable()
	}
	return bucket, nil
}

func (r remote) unreadable() error {
	return domain.Errorf(domain.CodeInvalid, "the settings for the archive in azblob://%s cannot be used; check the AZURE_STORAGE_… variables", r.name)
}
