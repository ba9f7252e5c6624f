/** Summary of several test runs from the results of vitest's JSON reporter: skipped tests with their reasons, and the sums. */
import { skipped, type TestFile } from "./Skipped.ts"

export interface TestResults {
  readonly success: boolean
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: ReadonlyArray<TestFile & { readonly status: string }>
}

/** A file without a failed test, that failed nevertheless, could not be run. */
const brokenFiles = ({ testResults }: TestResults): number =>
  testResults.filter(
    ({ assertionResults, status }) =>
      status === "failed" && assertionResults.every((test) => test.status !== "failed")
  ).length

/** At least 1 for a run that failed, or has no results. */
const failuresOf = (run: TestResults | undefined): number =>
  run === undefined ? 1 : Math.max(run.numFailedTests + brokenFiles(run), run.success ? 0 : 1)

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, each) => total + each, 0)

/** Lines to print. A run without results is `undefined`. */
export const summaryLines = (
  runs: ReadonlyArray<TestResults | undefined>,
  root: string
): ReadonlyArray<string> => {
  const lines = skipped(
    runs.flatMap((run) => run?.testResults ?? []),
    root
  )
  const passed = sum(runs.map((run) => run?.numPassedTests ?? 0))
  return [
    ...(lines.length > 0 ? ["skipped:", ...lines] : []),
    `${passed} passed, ${sum(runs.map(failuresOf))} failed`
  ]
}
