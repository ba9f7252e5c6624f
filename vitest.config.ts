import { defineConfig } from "vitest/config"

const common = {
  exclude: ["**/*.soak.test.ts", "**/*.runtimes.test.ts", "**/node_modules/**"],
  pool: "forks" as const,
  testTimeout: 30_000,
  hookTimeout: 60_000
}

/** Packages whose tests start nothing that outlives them: their files share processes, and what those have loaded. */
const shared = ["packages/{domain,adapters,service}/test/**/*.test.ts", "scripts/**/*.test.ts"]

export default defineConfig({
  test: {
    maxWorkers: 3,
    projects: [
      { test: { ...common, name: "shared", include: shared, isolate: false } },
      {
        test: {
          ...common,
          // One fork per test file: several suites start real processes and must not share a process table mark.
          name: "apart",
          include: ["packages/*/test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [...common.exclude, ...shared],
          globalSetup: ["packages/hub/test/harness/PreparedHome.ts"]
        }
      }
    ]
  }
})
