import { defineConfig } from "vitest/config"

// Packages as people install them. Packing takes longer than the tests, so all files share one packing.
export default defineConfig({
  test: {
    include: [
      "packages/*/test/**/*.packages.test.ts",
      "scripts/**/*.packages.test.ts",
      "examples/**/*.packages.test.ts"
    ],
    exclude: ["**/node_modules/**"],
    globalSetup: ["packages/testing/src/postgres/SharedPostgres.ts", "scripts/pack/SharedPackages.ts"],
    pool: "forks",
    maxWorkers: 2,
    // As of the other tests: for those that hang.
    testTimeout: 600_000,
    hookTimeout: 600_000
  }
})
