/** `npm run bench -- edge`: everything that is promised of an Edge's speed and size, beside the floor. */
import { type GroupOptions, runGroups } from "../Groups.ts"
import type { Report } from "../Report.ts"
import type { TargetOptions } from "../Target.ts"
import { coldStart } from "./ColdStart.ts"
import { create } from "./Create.ts"
import { latency } from "./Latency.ts"
import { memory } from "./Memory.ts"
import { replay } from "./Replay.ts"
import { throughput } from "./Throughput.ts"

export interface EdgeBenchOptions extends GroupOptions, TargetOptions {
  /** Measurements on each side where they are cheap enough to repeat. */
  readonly rounds: number
}

const groups = { coldStart, create, latency, throughput, replay, memory }

export const edgeBench = (options: EdgeBenchOptions, report: Report): Promise<void> =>
  runGroups(groups, options, report)
