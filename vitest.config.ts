import { defineConfig } from "vitest/config"

// One fork per test file: several suites start real processes and must not share a process table mark.
export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts"],
    exclude: ["**/*.soak.test.ts", "**/*.runtimes.test.ts", "**/node_modules/**"],
    globalSetup: ["packages/hub/test/harness/PreparedHome.ts"],
    pool: "forks",
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000
  }
})
