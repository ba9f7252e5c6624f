import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    // Properties are tried in ten times as many ways.
    env: { CORRAL_TEST_EFFORT: "10" },
    include: [
      "packages/*/test/**/*.{soak,property}.test.ts",
      "packages/edge/test/{run/Recovery,workspace/Snapshots}.test.ts",
      "scripts/**/*.soak.test.ts"
    ],
    globalSetup: ["packages/testing/src/postgres/SharedPostgres.ts"],
    pool: "forks",
    fileParallelism: false,
    testTimeout: 1_800_000,
    hookTimeout: 120_000
  }
})
