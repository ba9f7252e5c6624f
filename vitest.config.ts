import { defineConfig } from "vitest/config"

const common = {
  exclude: ["**/*.soak.test.ts", "**/*.runtimes.test.ts", "**/node_modules/**"],
  pool: "forks" as const,
  globalSetup: ["packages/hub/test/harness/SharedPostgres.ts"],
  testTimeout: 30_000,
  hookTimeout: 60_000
}

/** Packages whose tests look at no process but those that they have started: their files share workers, and what those have loaded. */
const shared = ["packages/{domain,adapters,service,hub,gateway}/test/**/*.test.ts", "scripts/**/*.test.ts"]

export default defineConfig({
  test: {
    maxWorkers: 3,
    projects: [
      { test: { ...common, name: "shared", include: shared, isolate: false } },
      {
        test: {
          ...common,
          // One fork per test file: an Edge's tests look through the process table, and must not share a mark in it.
          name: "apart",
          include: ["packages/*/test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [...common.exclude, ...shared]
        }
      }
    ]
  }
})
