/** The checks as tests of vitest, node:test, or any runner with `describe` and `it`. */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { checkModule, type ModuleCheck } from "./CheckModule.ts"
import { conformance, type ConformanceOptions, planChecks } from "./Conformance.ts"
import type { Recording } from "./Replay.ts"
import { type Finding, rules } from "./Rules.ts"

/** `describe` and `it` of the runner. */
export interface TestRunner {
  readonly describe: (name: string, define: () => void) => unknown
  readonly it: (name: string, test: () => void | Promise<void>) => unknown
}

export interface AdapterTest extends ConformanceOptions {
  readonly adapter: RuntimeAdapter
  readonly recordings: ReadonlyArray<Recording>
}

/** Failure of a test, with a line for each finding. */
export class NotConformant extends Error {
  override readonly name = "NotConformant"
  readonly findings: ReadonlyArray<Finding>
  constructor(findings: ReadonlyArray<Finding>) {
    super(findings.map(({ message, rule }) => `${rule}: ${message}\n  ${rules[rule]}`).join("\n"))
    this.findings = findings
  }
}

const assertNone = (findings: ReadonlyArray<Finding>): void => {
  if (findings.length > 0) throw new NotConformant(findings)
}

/** Tests of an adapter in the thread of the runner: for a debugger. A call that blocks is ended by the runner, if it can. */
export const testAdapter = ({ describe, it }: TestRunner, test: AdapterTest): void => {
  describe(`conformance of ${test.adapter.id}`, () => {
    for (const { findings, name } of conformance(test.adapter, test.recordings, test))
      it(name, () => assertNone(findings()))
  })
}

/** Tests of an adapter's module in a thread. A call that blocks is a finding. */
export const testModule = ({ describe, it }: TestRunner, test: ModuleCheck): void => {
  describe("conformance", () => {
    let checked: ReturnType<typeof checkModule> | undefined
    const findingsOf = async (name: string): Promise<ReadonlyArray<Finding>> => {
      checked ??= checkModule(test)
      const all = await checked
      const found = all.find((each) => each.name === name)
      // After a check that did not end there are no others.
      return found?.findings ?? all.at(-1)?.findings ?? []
    }
    for (const { name } of planChecks(test.recordings))
      it(name, async () => assertNone(await findingsOf(name)))
  })
}
