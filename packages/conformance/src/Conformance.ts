/**
 * Conformance kit of adapters: checks from an adapter and recordings of its real program, as plain functions.
 *
 * ```ts
 * for (const check of conformance(adapter, recordings)) it(check.name, () => assert.deepStrictEqual(check.findings(), []))
 * ```
 *
 * Guarantees: decoding is independent of chunking, every run ends exactly once and as recorded, and no input breaks the adapter.
 * Does not: show that the events mean what the program meant. Expected outputs and a review do. End a call that blocks: `checkModule` does.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { answerFindings, cancelFindings, questionFindings } from "./Decisions.ts"
import {
  capabilityFindings,
  commandFindings,
  declarationFindings,
  environmentFindings,
  keyFindings,
  probeFindings,
  startIn
} from "./Declaration.ts"
import { propertyFindings } from "./Properties.ts"
import { recordedFindings } from "./Recorded.ts"
import { memoryFindings, corruptedFindings } from "./Corrupted.ts"
import type { Recording } from "./Replay.ts"
import { catching, type Finding, findingsOf } from "./Rules.ts"

/** One check. It never throws: an adapter that throws is a finding. */
export interface Check {
  readonly name: string
  /** Violations; empty if the check passes. */
  readonly findings: () => ReadonlyArray<Finding>
}

/** A check of any adapter. */
export interface PlannedCheck {
  readonly name: string
  readonly findings: (adapter: RuntimeAdapter) => ReadonlyArray<Finding>
}

export interface ConformanceOptions {
  /** Examples of each property and recording. Default: 8. With fewer, each recording is also cut and cancelled at fewer places. */
  readonly runs?: number | undefined
  /** Seed of the properties. Default: a different one each time. */
  readonly seed?: number | undefined
}

const prototypes = [Object.prototype, Array.prototype, Function.prototype]
const shapes = (): string => JSON.stringify(prototypes.map((each) => Reflect.ownKeys(each).map(String)))

/** The findings, with one more if a prototype was changed meanwhile. Changes are removed. */
const watchingPrototypes = (check: () => ReadonlyArray<Finding>): ReadonlyArray<Finding> => {
  const before = shapes()
  const keysBefore = prototypes.map((each) => new Set(Reflect.ownKeys(each)))
  const findings = catching("throws", "check", check)
  if (shapes() === before) return findings
  for (const [at, prototype] of prototypes.entries())
    for (const key of Reflect.ownKeys(prototype))
      if (keysBefore[at]?.has(key) === false) Reflect.deleteProperty(prototype, key)
  return [...findings, ...findingsOf("prototypes", ["a prototype was changed"])]
}

/** The checks for these recordings, before there is an adapter. */
export const planChecks = (
  recordings: ReadonlyArray<Recording>,
  { runs = 8, seed }: ConformanceOptions = {}
): ReadonlyArray<PlannedCheck> => {
  const planned = (name: string, findings: PlannedCheck["findings"]): PlannedCheck => ({
    name,
    findings: (adapter) =>
      watchingPrototypes(() => {
        const declared = declarationFindings(adapter)
        return declared.length > 0 ? declared : findings(adapter)
      })
  })
  return [
    planned("declares what it is", (adapter) => [
      ...probeFindings(adapter),
      ...commandFindings(adapter),
      ...environmentFindings(adapter),
      ...keyFindings(adapter)
    ]),
    planned("has the capabilities that it claims", (adapter) => capabilityFindings(adapter, recordings)),
    planned("holds at most one line", (adapter) =>
      memoryFindings(adapter, recordings[0]?.start ?? startIn("full_access"))
    ),
    ...recordings.flatMap((recording) => [
      planned(`${recording.name}: as it was printed`, (adapter) => recordedFindings(adapter, recording)),
      planned(`${recording.name}: with corrupted lines`, (adapter) =>
        corruptedFindings(adapter, recording, runs)
      ),
      planned(`${recording.name}: with answers`, (adapter) => [
        ...answerFindings(adapter, recording),
        ...questionFindings(adapter, recording)
      ]),
      planned(`${recording.name}: cancelled at any line`, (adapter) =>
        cancelFindings(adapter, recording, runs)
      ),
      planned(`${recording.name}: any reads, bytes and calls`, (adapter) =>
        propertyFindings(adapter, recording, { runs, seed })
      )
    ])
  ]
}

/** The checks of an adapter. */
export const conformance = (
  adapter: RuntimeAdapter,
  recordings: ReadonlyArray<Recording>,
  options?: ConformanceOptions
): ReadonlyArray<Check> =>
  planChecks(recordings, options).map(({ findings, name }) => ({ name, findings: () => findings(adapter) }))
