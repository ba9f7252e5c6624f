import { defineConfig } from "vitest/config"
import { folderInMemory } from "./packages/testing/src/files/TemporaryFiles.ts"

const decisions = ["packages/edge/test/change/*.soak.test.ts"]

interface SoakProject {
  readonly include: ReadonlyArray<string>
  readonly exclude?: ReadonlyArray<string>
  readonly execArgv?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

const projectOf = (name: string, { env = {}, exclude = [], execArgv = [], include }: SoakProject) => ({
  test: {
    name,
    // Properties are tried in ten times as many ways.
    env: { CORRAL_TEST_EFFORT: "10", ...env },
    include: [...include],
    exclude: ["**/node_modules/**", ...exclude],
    execArgv: [...execArgv],
    pool: "forks" as const,
    testTimeout: 1_800_000,
    hookTimeout: 120_000
  }
})

export default defineConfig({
  test: {
    globalSetup: ["packages/testing/src/postgres/SharedPostgres.ts"],
    fileParallelism: false,
    projects: [
      projectOf("long", {
        include: [
          "packages/*/test/**/*.{soak,property}.test.ts",
          "packages/adapters/test/Conformance.test.ts",
          "packages/edge/test/{run/Recovery,workspace/Snapshots}.test.ts",
          "scripts/**/*.soak.test.ts"
        ],
        exclude: decisions
      }),
      // They sync each write and start git thousands of times: files in memory and small workers, as in `npm test`.
      projectOf("decisions", {
        include: decisions,
        env: { TMPDIR: folderInMemory() },
        execArgv: ["--max-semi-space-size=4"]
      })
    ]
  }
})
