/** Summary of several test runs from the results of vitest's JSON reporter: skipped tests with their reasons, failed ones, and the sums. */
import { relative } from "node:path"
import { skipped, type TestFile } from "./Skipped.ts"

export interface TestResults {
  readonly success: boolean
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: ReadonlyArray<ResultsOfFile>
}

interface ResultsOfFile extends TestFile {
  readonly status: string
  /** Why the file could not be run; empty if it could. */
  readonly message: string
  readonly assertionResults: ReadonlyArray<{
    readonly status: string
    readonly fullName: string
    readonly failureMessages?: ReadonlyArray<string> | null
  }>
}

/** A file without a failed test, that failed nevertheless, could not be run. */
const isBroken = ({ assertionResults, status }: ResultsOfFile): boolean =>
  status === "failed" && assertionResults.every((test) => test.status !== "failed")

/** At least 1 for a run that failed, or has no results. */
const failuresOf = (run: TestResults | undefined): number =>
  run === undefined
    ? 1
    : Math.max(run.numFailedTests + run.testResults.filter(isBroken).length, run.success ? 0 : 1)

/** The log of a long run is cut before it is read: what failed stands at its end, a line each with the first line of the error. */
const failed = (files: ReadonlyArray<ResultsOfFile>, root: string): ReadonlyArray<string> =>
  files.flatMap((file) => {
    const where = relative(root, file.name)
    const line = (what: string, error = "") => `  ${what}: ${error.split("\n", 1)[0]}`
    const tests = file.assertionResults
      .filter(({ status }) => status === "failed")
      .map(({ failureMessages, fullName }) => line(`${where}, ${fullName}`, failureMessages?.[0]))
    return isBroken(file) ? [line(where, file.message), ...tests] : tests
  })

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, each) => total + each, 0)

/** Lines to print. A run without results is `undefined`. */
export const summaryLines = (
  runs: ReadonlyArray<TestResults | undefined>,
  root: string
): ReadonlyArray<string> => {
  const files = runs.flatMap((run) => run?.testResults ?? [])
  const skips = skipped(files, root)
  const failures = failed(files, root)
  const passed = sum(runs.map((run) => run?.numPassedTests ?? 0))
  return [
    ...(skips.length > 0 ? ["skipped:", ...skips] : []),
    ...(failures.length > 0 ? ["failed:", ...failures] : []),
    `${passed} passed, ${sum(runs.map(failuresOf))} failed`
  ]
}
