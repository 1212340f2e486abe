module ioredisson/interop

go 1.20

require (
	github.com/me-cs/goRedisson v1.1.2
	github.com/redis/go-redis/v9 v9.10.0
)
