/**
 * Parts that the configurations of `npm test` and `npm run test:e2e` share.
 *
 * A file's folder and name say where it runs: `test/e2e` and `test/joined` in `npm run test:e2e`, `*.soak.test.ts` in `npm run test:soak` and
 * so on, all others in `npm test`.
 */
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Compiled code of what the tests' processes load, and of programs that they start from sources: without it each compiles them again. */
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(
  new URL("node_modules/.cache/node-compile", import.meta.url)
)

/**
 * Memory of the C library, of all threads in one area and in large pages. A worker of the tests grows to half a gigabyte, and each start of a program
 * copies the table of its pages: with small ones that takes ten times as long as the rest of the start. Other C libraries read no such variable, and
 * a system without large pages uses small ones.
 */
process.env["GLIBC_TUNABLES"] ??= "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1"

/** Whole programs from the outside: the command, the console in Chromium, a service as a process, several services joined. */
export const outside = "packages/*/test/{e2e,joined}/**/*.test.ts"

/** Small files whose tests take long: they start several programs, or send thousands of frames. */
const LONG = /\/test\/smoke\/|\/(?:CheckModule|HostilePeers)\.test\.ts$/

/** Without the times of an earlier run, the largest files of a project are first. Long tests among the last would leave a processor idle at the end. */
class LongFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name)
    return [...projects.values()].flatMap((ofProject) => [
      ...ofProject.filter(({ moduleId }) => LONG.test(moduleId)),
      ...ofProject.filter(({ moduleId }) => !LONG.test(moduleId))
    ])
  }
}

/** Of both runs. */
export const bothRuns = {
  maxWorkers: 5,
  sequence: { sequencer: LongFirst },
  // What failed elsewhere is read from one line.
  chaiConfig: { truncateThreshold: 400 },
  globalSetup: [
    "packages/testing/src/files/TemporaryFiles.ts",
    "packages/testing/src/postgres/SharedPostgres.ts"
  ]
}

interface Project {
  readonly include: ReadonlyArray<string>
  readonly exclude?: ReadonlyArray<string>
  readonly isolate?: boolean
  readonly execArgv?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

/** A project without the files of other kinds, which have their own configurations. */
export const projectOf = (name: string, { exclude = [], execArgv = [], include, ...more }: Project) => ({
  test: {
    name,
    include: [...include],
    exclude: [
      "**/*.soak.test.ts",
      "**/*.runtimes.test.ts",
      "**/*.packages.test.ts",
      "**/*.faults.test.ts",
      "**/*.failover.test.ts",
      "**/node_modules/**",
      ...exclude
    ],
    pool: "forks" as const,
    // For tests that hang. No test has a shorter one: it would count the time in which other programs have the processors. Waits have limits of their
    // own, which count uncontended time (`UncontendedTime`).
    testTimeout: 600_000,
    hookTimeout: 600_000,
    execArgv: [...execArgv],
    ...more
  }
})

/** Files that share workers, and what those have loaded. */
export const sharedProject = (project: Project) => projectOf("shared", { ...project, isolate: false })

/**
 * Tests of the Edge start thousands of programs. Each start copies the tables of the worker's memory, and the worker then takes a fault for each
 * page that it writes: small workers start programs in half the time.
 */
export const spawningProject = (project: Project) =>
  projectOf("edge", { ...project, isolate: false, execArgv: SMALL })

const SMALL = ["--max-semi-space-size=4"]

/** Confined programs have a `/dev` of their own, where the folder in memory is not. Their tests start programs, too. */
export const confinedProject = (include: ReadonlyArray<string>) =>
  projectOf("confined", { include, isolate: false, execArgv: SMALL, env: { TMPDIR: tmpdir() } })
