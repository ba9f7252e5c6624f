/**
 * Containment of a run's processes: no process survives its run.
 *
 * Guarantees: the strongest means that works on this machine is chosen once, at the start: a control group per run, or the marks in the
 * environment, or the process group. A means is proven before it is chosen. The marks are searched in any case, because a process can
 * leave its group.
 *
 * Does not: find a process that leaves its group, wipes its marks and loses its session and parent. Containment by the same user cannot
 * hold a program that tries to escape.
 */
import type { ContainmentKind } from "@corral/domain/http/Health"
import type { RunId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Option } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import {
  edgeGroup,
  emptyGroup,
  entering,
  killGroup,
  makeGroup,
  ownGroup,
  removeGroup
} from "./ControlGroup.ts"
import { hasProc, type MarkedProcesses, sweepMarked } from "./MarkSweep.ts"

export class Containment extends Context.Service<
  Containment,
  {
    readonly kind: ContainmentKind
    /** The control group that a run's processes are to be started in; `undefined` where they get none. */
    readonly groupOf: (edgeId: string, runId: RunId) => string | undefined
  }
>()("corral/edge/Containment") {
  static readonly layer = (config: Pick<EdgeConfig, "containment">) =>
    Layer.effect(Containment, choose(config.containment))
}

const PROOF_LIMIT = "2 seconds"

/** Kills it and waits: until then it may still enter its group, which could not be removed. */
const ended = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null)
      return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

/** Whether a process can be put into a group below that one and killed with it: done once, with a shell that waits. */
const isProven = (own: string): Effect.Effect<boolean> => {
  const group = join(own, `corral-proof-${process.pid}-${randomUUID()}`)
  const tried = Effect.callback<boolean>((resume) => {
    makeGroup(group)
    const { args, file } = entering(group, "/bin/sh", ["-c", "echo inside; read line"])
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
    // The group may not be made.
    Effect.catchDefect(() => Effect.succeed(false)),
    Effect.ensuring(Effect.sync(() => removeGroup(group)))
  )
}

const choose = Effect.fnUntraced(function* (setting: EdgeConfig["containment"]) {
  const own = setting === "auto" ? ownGroup() : undefined
  if (own !== undefined && (yield* isProven(own))) {
    return Containment.of({
      kind: "cgroup",
      groupOf: (edgeId, runId) => join(edgeGroup(own, edgeId), runId)
    })
  }
  return Containment.of({ kind: hasProc ? "environment_mark" : "process_group", groupOf: () => undefined })
})

/** All processes of a run, or of an Edge. */
export interface ProcessTarget extends MarkedProcesses {
  readonly groups?: ReadonlyArray<string> | undefined
}

const ROUNDS = 5

/**
 * Kills all processes of the target until none is found and its groups are gone. Returns the number of looks that found something. The
 * first look is immediate. Processes that cannot be killed are logged.
 */
export const sweep = Effect.fnUntraced(function* (target: ProcessTarget) {
  const groups = target.groups ?? []
  let looks = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (const group of groups) looks += yield* emptyGroup(group)
    looks += yield* sweepMarked(target)
    // Last, because what is found by its marks may have come back into the group.
    if (groups.filter((group) => !removeGroup(group)).length === 0) return looks
  }
  yield* Effect.logError(`control groups of ${target.mark} could not be removed`)
  return looks
})
