/** Runs of programs in a holder. */
import { until } from "@corral/testing/time/Until"
import { Effect } from "effect"
import { tmpdir } from "node:os"
import { type HeldLimits, HeldProcess } from "../../src/holder/HeldProcess.ts"
import type { HeldRunConnection } from "../../src/holder/HeldRunConnection.ts"
import { RUN_MARK } from "../../src/process/ProcessSweep.ts"
import type { ChildEnd, RunChildHandlers } from "../../src/process/RunChild.ts"
import type { SubprocessSpec } from "../../src/process/Subprocess.ts"
import type { ConnectedEdge } from "./HolderHome.ts"

/** What a run has received. */
export class RunRecord {
  readonly events: Array<string> = []
  readonly ended = Promise.withResolvers<ChildEnd>()
  readonly spawnError = Promise.withResolvers<NodeJS.ErrnoException>()
  readonly chunks: Array<Buffer> = []
  /** The process, which learns that all output is processed. Without it, the holder sends about a window. */
  child: HeldProcess | undefined
  #bytes = 0
  #waiting: { readonly bytes: number; readonly resolve: () => void } | undefined

  readonly handlers: RunChildHandlers = {
    onChunk: (chunk) => {
      this.chunks.push(chunk)
      this.#bytes += chunk.length
      this.child?.reportUnread(0)
      if (this.#waiting !== undefined && this.#bytes >= this.#waiting.bytes) this.#waiting.resolve()
    },
    onGone: () => void this.events.push("gone"),
    onEnd: (end) => {
      this.events.push("end")
      this.ended.resolve(end)
    },
    onSpawnError: (error) => {
      this.events.push("spawnError")
      this.spawnError.resolve(error)
    }
  }

  get bytes(): number {
    return this.#bytes
  }

  get output(): Buffer {
    return Buffer.concat(this.chunks)
  }

  /** Waits until that many bytes have arrived. */
  received(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { bytes, resolve }
      if (this.#bytes >= bytes) resolve()
    })
  }
}

export interface RecordedRun {
  readonly id: string
  readonly child: HeldProcess
  readonly connection: HeldRunConnection
  readonly record: RunRecord
}

let counter = 0
export const newRun = (): string => `run_test${process.pid}x${++counter}`

export const markOf = (run: string): string => `${RUN_MARK}=${run}`

interface StartedProgram extends Partial<SubprocessSpec> {
  readonly run?: string
  readonly limits?: Partial<HeldLimits>
  /** Whether output counts as processed when it arrives. */
  readonly reports?: boolean
  /** Folder of control groups in which the holder may have prepared one. */
  readonly groups?: string | undefined
}

/** Starts a program as a run does. */
export const startRun = async (
  { holder }: Pick<ConnectedEdge, "holder">,
  { env, groups, limits, reports = true, run = newRun(), ...more }: StartedProgram
): Promise<RecordedRun> => {
  const record = new RunRecord()
  const connection = await Effect.runPromise(holder.open(run, undefined, groups))
  const spec: SubprocessSpec = {
    file: "/bin/sh",
    group: connection.opened.group,
    args: [],
    cwd: tmpdir(),
    stdin: "pipe",
    ...more,
    env: { PATH: process.env.PATH ?? "", [RUN_MARK]: run, ...env }
  }
  const all: HeldLimits = { mark: markOf(run), maxBytes: 1_000_000_000, until: {}, ...limits }
  const child = HeldProcess.start(connection, spec, all, record.handlers)
  if (reports) record.child = child
  await until(async () => (child.pid !== undefined || child.isGone ? true : undefined), "the start")
  return { id: run, child, connection, record }
}

export const startShell = (
  edge: Pick<ConnectedEdge, "holder">,
  script: string,
  more: StartedProgram = {}
): Promise<RecordedRun> => startRun(edge, { args: ["-c", script], ...more })

/** Continues with a run that an earlier Edge started. */
export const adoptRun = async (
  { holder }: Pick<ConnectedEdge, "holder">,
  id: string,
  from = 0
): Promise<RecordedRun> => {
  const record = new RunRecord()
  const connection = await Effect.runPromise(holder.open(id))
  const child = HeldProcess.adopt(connection, { from, isConfined: false }, record.handlers)
  record.child = child
  return { id, child, connection, record }
}
