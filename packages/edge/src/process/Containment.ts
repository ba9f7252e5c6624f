/**
 * Containment of a run's processes: no process survives its run.
 *
 * Guarantees: the strongest means that works on this machine is chosen once, at the start: a control group per run, or the marks in the
 * environment, or the process group. A means is proven before it is chosen, a control group once for each boot and folder. The marks are
 * searched in any case, because a process can leave its group.
 *
 * Does not: find a process that leaves its group, wipes its marks and loses its session and parent. Containment by the same user cannot
 * hold a program that tries to escape.
 */
import type { ContainmentKind } from "@corral/domain/http/Health"
import type { RunId } from "@corral/domain/identity/Ids"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Context, Effect, Layer, Option } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { accessSync, constants } from "node:fs"
import { join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { edgeGroup, commandInGroup, killGroup, makeGroup, ownGroup, removeGroup } from "./ControlGroup.ts"
import { hasProof } from "./GroupRecord.ts"
import { findSurvivors, hasProc, type Survivors, type SweepSteps } from "./MarkSearch.ts"
import { type ProcessTarget, sweepTarget } from "./ProcessSweep.ts"
import { type FindSurvivors, SearchThreadStart, SharedSearch } from "./SharedSearch.ts"

export type { ProcessTarget } from "./ProcessSweep.ts"

export class Containment extends Context.Service<
  Containment,
  {
    readonly kind: ContainmentKind
    /** The group in which the groups of runs are made; `undefined` if control groups are not in use. */
    readonly folder: string | undefined
    /** The folder of the groups of an Edge's runs; `undefined` if control groups are not in use. */
    readonly groupsOf: (edgeId: string) => string | undefined
    /** The control group for the run's processes; `undefined` if control groups are not in use. */
    readonly groupOf: (edgeId: string, runId: RunId) => string | undefined
    /** Search for what is left of a run that ends while others are live: in another thread. */
    readonly find: FindSurvivors
  }
>()("corral/edge/Containment") {
  static readonly layer = Layer.effect(
    Containment,
    Effect.flatMap(EdgeConfig, (config) => choose(config))
  )
}

/** A system that refuses does so at once. A busy one may need this long to start a shell. */
const PROOF_LIMIT = "10 seconds"

/** Kills a process and waits, because until it has ended it may enter its group, which then could not be removed. */
const ended = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null)
      return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

const proofGroup = (parentGroup: string): string =>
  join(parentGroup, `corral-proof-${process.pid}-${randomUUID()}`)

/** Whether a process can be put into a group below another one, and killed with it. Tested once, with a shell that waits. */
const isProven = (parentGroup: string): Effect.Effect<boolean> => {
  const group = proofGroup(parentGroup)
  const tried = Effect.callback<boolean>((resume) => {
    makeGroup(group)
    const { args, file } = commandInGroup(group, "/bin/sh", ["-c", "echo inside; read line"])
    const child = spawn(file, args, { env: {}, stdio: ["pipe", "pipe", "ignore"] })
    child.on("error", () => resume(Effect.succeed(false)))
    child.stdin.on("error", () => undefined)
    child.stdout.once("data", () => {
      if (!killGroup(group)) child.kill("SIGTERM")
    })
    child.once("exit", (_, signal) => resume(Effect.succeed(signal === "SIGKILL")))
    return ended(child)
  })
  return tried.pipe(
    Effect.timeoutOption(PROOF_LIMIT),
    Effect.map(Option.getOrElse(() => false)),
    // The group may not exist.
    Effect.catchDefect(() => Effect.succeed(false)),
    Effect.ensuring(Effect.sync(() => removeGroup(group)))
  )
}

/** Whether an earlier Edge proved it, and groups can still be made and processes moved. A permission is all that can change. */
const isStillProven = (home: string, parentGroup: string): boolean => {
  if (!hasProof(home, parentGroup)) return false
  const group = proofGroup(parentGroup)
  try {
    makeGroup(group)
    accessSync(join(parentGroup, "cgroup.procs"), constants.W_OK)
    accessSync(join(group, "cgroup.kill"), constants.W_OK)
    return true
  } catch {
    return false
  } finally {
    removeGroup(group)
  }
}

const choose = Effect.fnUntraced(function* ({ containment, home }: Pick<EdgeConfig, "containment" | "home">) {
  const searches = (yield* CurrentMetrics).counter(edgeMetrics.searches)
  const startThread = yield* SearchThreadStart
  const { find } = yield* Effect.acquireRelease(
    Effect.sync(() => new SharedSearch(() => searches.add(1), startThread)),
    (search) => Effect.sync(() => search.close())
  )
  const group = containment === "auto" ? ownGroup() : undefined
  if (group !== undefined && (isStillProven(home, group) || (yield* isProven(group)))) {
    return Containment.of({
      kind: "cgroup",
      folder: group,
      groupsOf: (edgeId) => edgeGroup(group, edgeId),
      groupOf: (edgeId, runId) => join(edgeGroup(group, edgeId), runId),
      find
    })
  }
  return Containment.of({
    kind: hasProc ? "environment_mark" : "process_group",
    folder: undefined,
    groupsOf: () => undefined,
    groupOf: () => undefined,
    find
  })
})

/** A search in this thread: of a start, when no run is live. */
const findHere: FindSurvivors = (target) => Effect.sync(() => findSurvivors(target))

/** Runs the steps of a sweep, and logs its failures. */
export const runSweep = Effect.fnUntraced(function* (steps: SweepSteps, find: FindSurvivors = findHere) {
  let found: Survivors | undefined
  for (;;) {
    const { done, value } = steps.next(found)
    found = undefined
    if (done === true) return value
    if (value._tag === "Search") found = yield* find(value.target)
    else if (value._tag === "Pause") yield* Effect.sleep(value.millis)
    else yield* Effect.logError(value.message, value.details)
  }
})

/**
 * Kills all processes of the target until none is found and its groups are removed. Returns the number of searches that found a process.
 * Processes that cannot be killed are logged.
 */
export const sweep = Effect.fn("Containment.sweep")((target: ProcessTarget, find?: FindSurvivors) =>
  runSweep(sweepTarget(target), find)
)
