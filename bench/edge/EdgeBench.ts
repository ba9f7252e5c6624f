/** `npm run bench -- edge`: everything that is promised of an Edge's speed and size, beside the floor. */
import { type GroupOptions, runGroups } from "../Groups.ts"
import type { Report } from "../Report.ts"
import type { TargetOptions } from "../Target.ts"
import { measureApproval } from "./Approval.ts"
import { measureCancel } from "./Cancel.ts"
import { measureClaudeCode } from "./ClaudeCode.ts"
import { measureColdStart } from "./ColdStart.ts"
import { measureConfinement, measureLargeRepository } from "./Confinement.ts"
import { measureCreate } from "./Create.ts"
import { measureLatency } from "./Latency.ts"
import { measureLayers } from "./Layers.ts"
import { measureMemory } from "./Memory.ts"
import { measureReplay } from "./Replay.ts"
import { measureThroughput } from "./Throughput.ts"

export interface EdgeBenchOptions extends GroupOptions, TargetOptions {
  /** Measurements on each side where they are cheap enough to repeat. */
  readonly rounds: number
  /** How often fresh servers are started for latency and throughput. */
  readonly servers: number
}

/** By the names that `--only` takes. */
const groups = {
  coldStart: measureColdStart,
  create: measureCreate,
  confinement: measureConfinement,
  largeRepository: measureLargeRepository,
  layers: measureLayers,
  cancel: measureCancel,
  latency: measureLatency,
  throughput: measureThroughput,
  claudeCode: measureClaudeCode,
  approval: measureApproval,
  replay: measureReplay,
  memory: measureMemory
}

export const edgeBench = (options: EdgeBenchOptions, report: Report): Promise<void> =>
  runGroups(groups, options, report)
