/**
 * Nothing of a run survives it.
 *
 * The strongest means that this machine has is chosen once, at the start: a control group for each run; else the marks in the
 * environment; else the process group. A means is chosen after it was seen to work, not because it should. The marks are looked for
 * whatever was chosen, because a process can leave its group.
 *
 * What leaves its group and wipes its marks and loses its session and parent is not found: no containment by the same user holds a
 * program that sets out to escape.
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

/** Everything of a run, or of an Edge. */
export interface ProcessTarget extends MarkedProcesses {
  readonly groups?: ReadonlyArray<string> | undefined
}

const ROUNDS = 5

/**
 * Kills all of it, until nothing is found and its groups are gone. Gives the number of looks that found something, the first of
 * which is taken at once; what cannot be killed is told in the log.
 */
export const sweep = Effect.fnUntraced(function* (quarry: ProcessTarget) {
  const groups = quarry.groups ?? []
  let looks = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (const group of groups) looks += yield* emptyGroup(group)
    looks += yield* sweepMarked(quarry)
    // Last, because what is found by its marks may have come back into the group.
    if (groups.filter((group) => !removeGroup(group)).length === 0) return looks
  }
  yield* Effect.logError(`control groups of ${quarry.mark} could not be removed`)
  return looks
})
