import { defineConfig } from "vitest/config"

// Faults in each phase of a run, on one stack of real services: one file at a time.
export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.faults.test.ts"],
    globalSetup: ["packages/testing/src/postgres/SharedPostgres.ts"],
    pool: "forks",
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000
  }
})
