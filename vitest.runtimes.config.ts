import { defineConfig } from "vitest/config"

// Real programs from the package registry: installed while the tests are collected, driven one at a time.
export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.runtimes.test.ts"],
    pool: "forks",
    fileParallelism: false,
    globalSetup: ["packages/testing/src/postgres/SharedPostgres.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000
  }
})
