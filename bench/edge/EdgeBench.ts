/** `npm run bench -- edge`: everything that is promised of an Edge's speed and size, beside the floor. */
import type { Report } from "../Report.ts"
import type { TargetOptions } from "../Target.ts"
import { coldStart } from "./ColdStart.ts"
import { create } from "./Create.ts"
import { latency } from "./Latency.ts"
import { memory } from "./Memory.ts"
import { replay } from "./Replay.ts"
import { throughput } from "./Throughput.ts"

export interface EdgeBenchOptions extends TargetOptions {
  /** Measurements on each side where they are cheap enough to repeat. */
  readonly rounds: number
  /** Names of groups; all where there are none. */
  readonly only: ReadonlyArray<string>
}

const groups = { coldStart, create, latency, throughput, replay, memory }

export const edgeBench = async (options: EdgeBenchOptions, report: Report): Promise<void> => {
  const unknown = options.only.filter((name) => !Object.hasOwn(groups, name))
  if (unknown.length > 0)
    throw new Error(`unknown: ${unknown.join(", ")}; there are ${Object.keys(groups).join(", ")}`)
  for (const [name, group] of Object.entries(groups)) {
    if (options.only.length > 0 && !options.only.includes(name)) continue
    process.stderr.write(`– ${name}\n`)
    await group(options, report)
  }
}
