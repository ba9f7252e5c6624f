import { defineConfig } from "vitest/config"

// A cluster of three databases with Hubs on it, one at a time. It needs root, and Debian's packages of Patroni, etcd and haproxy.
export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.failover.test.ts"],
    globalSetup: ["packages/testing/src/postgres/SharedPostgres.ts"],
    pool: "forks",
    fileParallelism: false,
    testTimeout: 1_200_000,
    hookTimeout: 180_000
  }
})
