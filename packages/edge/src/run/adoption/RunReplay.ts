/**
 * Replay of a run: brings a new adapter into the state of the one that an earlier Edge had.
 *
 * The adapter receives the raw output from its first byte on, and each journaled call at its position. An adapter's state follows from these
 * alone: it has no clock, no ids and no I/O. So the outputs are the same, in the same order, and what was written to stdin is the same text.
 *
 * Synchronous, in pieces: the caller decides how much is replayed at once.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { AdapterEvent, AdapterOutput, Protocol } from "@corral/domain/run/RuntimeAdapter"
import type { BudgetMeter, CostMeter } from "../kernel/BudgetMeter.ts"
import type { OutputRedaction } from "../kernel/OutputRedaction.ts"
import { type JournaledCall, OutputPosition, type StoredJournal } from "../../journal/RunJournal.ts"
import type { RawRun } from "../../raw/RawRun.ts"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { Effect } from "effect"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { HeldProcess } from "../../holder/HeldProcess.ts"
import type { HeldRunConnection } from "../../holder/HeldRunConnection.ts"
import { holderPlaceOf } from "../../holder/HolderPlace.ts"
import type { AdoptedRun, RunElapsed } from "../actor/RunSession.ts"
import type { RunStartState } from "../start/HeldStart.ts"
import { type LoggedRun, millisAt } from "../recovery/Recovery.ts"

// The process of an adopted run: its raw output is replayed, then it is read where the replay ends.

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
export const replayRun = Effect.fn("RunReplay.replay")(function* ({
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
  readonly cost: CostMeter
  readonly replayed: ReplayedRun
  readonly connection: HeldRunConnection
  readonly now: number
  readonly group: string | undefined
  readonly lostKeys: AdoptedRun["lostKeys"]
}

export const adoptedProcess = (facts: AdoptionFacts): AdoptedRun => {
  const { budget, cost, connection, group, journal, startState, logged, now, replayed, run } = facts
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
    cost,
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

export interface RunReplayOptions {
  readonly protocol: Protocol
  readonly redaction: OutputRedaction
  readonly budget: BudgetMeter
  readonly cost: CostMeter
  /** Its answers have no seals. */
  readonly journal: StoredJournal
  /** Secret texts of the answers that are repeated. */
  readonly secrets: ReadonlyMap<JournaledCall, ReadonlyArray<string>>
  /** Receives the output again, from its first byte on. */
  readonly raw?: RawRun | undefined
  /** Outputs that the log includes. */
  readonly appliedOutputs: number
}

export class RunReplay {
  /** Where the replay is. `outputs` counts those that the log includes, at most. */
  readonly position = new OutputPosition()
  /** Outputs that the log does not include. */
  readonly rest: Array<AdapterOutput> = []
  /** What was written to stdin after the protocol's opening. */
  readonly texts: Array<string> = []
  /** Requests of journaled approvals, by the number of their output. */
  readonly requests = new Map<number, ApprovalRequest>()
  /** The last diff that the runtime reported. */
  diff: AdapterEvent | undefined
  readonly #options: RunReplayOptions
  readonly #wanted: ReadonlySet<number>
  /** Replies that wait for calls that came before them. */
  #replies: Array<{ readonly output: number; readonly text: string }> = []
  #nextCall = 0

  constructor(options: RunReplayOptions) {
    this.#options = options
    this.#wanted = new Set(options.journal.requests.flatMap((one) => ("output" in one ? one.output : [])))
  }

  /** The next bytes of the raw output. */
  step(read: Uint8Array): void {
    let rest = read
    for (let call = this.#due(rest.length); call !== undefined; call = this.#due(rest.length)) {
      const before = call.bytes - this.position.bytes
      if (before > 0) this.#decode(rest.subarray(0, before))
      rest = rest.subarray(before)
      this.#repeat(call)
    }
    if (rest.length > 0) this.#decode(rest)
  }

  /** After all bytes that were read. Returns whether the journal fits them. */
  finish(): boolean {
    for (let call = this.#due(0); call !== undefined; call = this.#due(0)) this.#repeat(call)
    this.#flushReplies(Infinity)
    return this.#nextCall === this.#options.journal.calls.length
  }

  /** The next call, if it was made within the next `length` bytes. */
  #due(length: number): JournaledCall | undefined {
    const call = this.#options.journal.calls[this.#nextCall]
    return call !== undefined && call.bytes <= this.position.bytes + length ? call : undefined
  }

  #decode(bytes: Uint8Array): void {
    const { appliedOutputs, protocol, raw, redaction } = this.#options
    raw?.push(bytes)
    const outputs = redaction.redactStream(protocol.step(bytes))
    this.position.bytes += bytes.length
    for (const output of outputs) {
      if (this.position.outputs < appliedOutputs) this.#restore(this.position.outputs++, output)
      else this.rest.push(output)
    }
  }

  /** What an applied output left, that is in no log. */
  #restore(number: number, applied: AdapterOutput): void {
    const { budget, cost } = this.#options
    const output = cost.read(applied)
    if (output._tag === "Reply") this.#replies.push({ output: number, text: output.text })
    else if (output._tag === "Usage") budget.charge(output.usage, cost.unpriced)
    else if (output._tag === "Approval" && this.#wanted.has(number)) this.requests.set(number, output.request)
    else if (output._tag === "Event" && output.event.type === "run.diff.ready") this.diff = output.event
  }

  #repeat(call: JournaledCall): void {
    this.#nextCall++
    this.#flushReplies(call.outputs)
    const { redaction, secrets } = this.#options
    redaction.learn(secrets.get(call) ?? [])
    const text = this.#textOf(call)
    if (text !== undefined) this.texts.push(text)
  }

  #textOf(call: JournaledCall): string | undefined {
    const { protocol } = this.#options
    switch (call._tag) {
      case "Answer":
        return protocol.answer(call.key, call.answer)
      case "Respond":
        return protocol.respond?.(call.key, call.response)
      case "Input":
        return protocol.input(call.text)
      case "Cancel":
        return protocol.cancel()
    }
  }

  /** Writes the replies of outputs before that number. */
  #flushReplies(before: number): void {
    const later = this.#replies.findIndex(({ output }) => output >= before)
    const due = this.#replies.splice(0, later === -1 ? this.#replies.length : later)
    for (const { text } of due) this.texts.push(text)
  }
}
