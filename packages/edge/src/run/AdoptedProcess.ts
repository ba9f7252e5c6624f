/** The process of an adopted run: its raw output is replayed, then it is read where the replay ends. */
import type { RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { Effect } from "effect"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { HeldProcess } from "../holder/HeldProcess.ts"
import type { HeldRunConnection } from "../holder/HeldRunConnection.ts"
import { holderPlaceOf } from "../holder/HolderPlace.ts"
import type { StoredJournal } from "../journal/RunJournal.ts"
import type { AdoptedRun, RunElapsed } from "./AdoptedRun.ts"
import type { BudgetMeter } from "./Budget.ts"
import type { RunStartState } from "./RunStartState.ts"
import { type LoggedRun, millisAt } from "./LoggedRun.ts"
import { RunReplay, type RunReplayOptions } from "./RunReplay.ts"

export type ReplayedRun = Pick<RunReplay, "position" | "rest" | "texts" | "requests" | "diff"> & {
  readonly appliedOutputs: number
}

/** Bytes in one piece. Other work of the Edge runs in between. */
const PIECE = 262_144

interface ReplaySource {
  readonly connection: HeldRunConnection
  readonly home: string
  readonly runId: RunId
  readonly options: RunReplayOptions
}

/** Replays what the holder has stored so far. Fails with a sentence. */
export const replayRun = Effect.fn("AdoptedProcess.replay")(function* ({
  connection,
  home,
  options,
  runId
}: ReplaySource): Effect.fn.Return<ReplayedRun, string> {
  const replay = new RunReplay(options)
  const { outputBytes } = connection.opened
  if (outputBytes > 0)
    yield* readOutput(join(holderPlaceOf(home).folder, `${runId}.out`), outputBytes, replay)
  if (!replay.finish()) return yield* Effect.fail("Its stored output is shorter than what was read of it.")
  const { diff, position, requests, rest, texts } = replay
  return { diff, position, requests, rest, texts, appliedOutputs: options.appliedOutputs }
})

const readOutput = (path: string, length: number, replay: RunReplay): Effect.Effect<void, string> =>
  Effect.tryPromise({
    try: async () => {
      const file = await open(path)
      try {
        const piece = Buffer.allocUnsafe(PIECE)
        for (let at = 0; at < length;) {
          const { bytesRead } = await file.read(piece, 0, Math.min(PIECE, length - at), at)
          if (bytesRead === 0) throw new Error("it is shorter than it was")
          replay.step(piece.subarray(0, bytesRead))
          at += bytesRead
        }
      } finally {
        await file.close()
      }
    },
    catch: (cause) => `Its stored output cannot be read: ${cause instanceof Error ? cause.message : cause}.`
  })

interface AdoptionFacts {
  readonly run: Run
  readonly startState: RunStartState
  readonly logged: LoggedRun
  readonly journal: StoredJournal
  readonly budget: BudgetMeter
  readonly replayed: ReplayedRun
  readonly connection: HeldRunConnection
  readonly now: number
  readonly group: string | undefined
  readonly lostKeys: AdoptedRun["lostKeys"]
}

export const adoptedProcess = (facts: AdoptionFacts): AdoptedRun => {
  const { budget, connection, group, journal, startState, logged, now, replayed, run } = facts
  const { opened } = connection
  const { diff, position, rest, texts, appliedOutputs } = replayed
  const { end } = opened
  return {
    command: { ...startState.command, group },
    position,
    journal,
    reported: {
      diff,
      isOver: journal.state?.isOver,
      isCancelled: journal.calls.some(({ _tag }) => _tag === "Cancel")
    },
    appliedOutputs,
    budget,
    stdinBytes: opened.stdinBytes,
    texts,
    outputs: rest,
    isStopping: journal.state?.isStopping === true,
    elapsed: elapsedOf(run, logged, now),
    endedBy: end?.by === "output" ? undefined : end?.by,
    lostKeys: facts.lostKeys,
    hasEnded: opened.exit !== undefined,
    attach: (command, handlers) =>
      HeldProcess.adopt(
        connection,
        { from: position.bytes, isConfined: command.isConfined === true, control: command.control },
        handlers
      )
  }
}

const elapsedOf = (run: Run, { active, background, state, wall }: LoggedRun, now: number): RunElapsed => ({
  age: now - Date.parse(run.createdAt),
  wall: millisAt(wall, now),
  active: millisAt(active, now),
  background: state.isIdle ? millisAt(background, now) : 0
})
