import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

/** Compiled code of what the tests' processes load, and of programs that they start from sources: without it each compiles them again. */
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(
  new URL("node_modules/.cache/node-compile", import.meta.url)
)

const common = {
  exclude: ["**/*.soak.test.ts", "**/*.runtimes.test.ts", "**/*.packages.test.ts", "**/node_modules/**"],
  pool: "forks" as const,
  testTimeout: 30_000,
  hookTimeout: 60_000
}

/** What looks at the process that it is in, or at everything that runs here: a fork for each file. */
const apart = ["packages/edge/test/process/**/*.test.ts", "packages/adapters/test/Conformance.test.ts"]

/** Confined programs have a `/dev` of their own, where the folder in memory is not. */
const confined = ["packages/edge/test/confinement/**/*.test.ts", "packages/edge/test/e2e/Confinement.test.ts"]

export default defineConfig({
  test: {
    maxWorkers: 4,
    globalSetup: [
      "packages/testing/src/files/TemporaryFiles.ts",
      "packages/testing/src/postgres/SharedPostgres.ts"
    ],
    projects: [
      {
        test: {
          ...common,
          name: "shared",
          // Their files share workers, and what those have loaded.
          isolate: false,
          include: ["packages/*/test/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [...common.exclude, ...apart, ...confined]
        }
      },
      { test: { ...common, name: "apart", include: apart } },
      { test: { ...common, name: "confined", isolate: false, include: confined, env: { TMPDIR: tmpdir() } } }
    ]
  }
})
