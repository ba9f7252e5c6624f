import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.soak.test.ts", "scripts/**/*.soak.test.ts"],
    globalSetup: ["packages/hub/test/harness/SharedPostgres.ts"],
    pool: "forks",
    fileParallelism: false,
    testTimeout: 1_800_000,
    hookTimeout: 120_000
  }
})
