/**
 * The process of a run that the holder started. To the run it looks like a `Subprocess`.
 *
 * Guarantees: `onEnd` or `onSpawnError` runs once. If the holder dies, the end is reported as SIGKILL and as a lost holder, so that the run ends
 * and its sweep finds what is left.
 *
 * Does not: end the run in the holder: `HeldRunConnection.end` does, once the run's events are stored.
 */
import { makeProgramFiles } from "../process/ProgramFiles.ts"
import type { RunChild, RunChildHandlers } from "../process/RunChild.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { HeldRunConnection } from "./HeldRunConnection.ts"
import type { HeldEnd, HeldEnder, HeldSpawnError, HeldStart, HeldUntil } from "./HolderMessages.ts"
import { Duplex } from "node:stream"

// Descriptor 3 of a program that the holder started, as a Duplex over `control` frames. It ends with the process.

/** Bytes that wait for a reader. A program that sends more loses the channel. */
const MAX_WAITING = 1_048_576

class ControlChannel extends Duplex {
  readonly #connection: HeldRunConnection

  constructor(connection: HeldRunConnection) {
    super({ autoDestroy: true })
    this.#connection = connection
  }

  /** Adds bytes that the program sent. */
  receive(bytes: Uint8Array): void {
    if (this.destroyed) return
    if (this.readableLength > MAX_WAITING) this.destroy()
    else this.push(Buffer.from(bytes))
  }

  override _read(): void {
    // Bytes arrive when the program sends them.
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#connection.writeControl(bytes)
    done()
  }
}

/** What the holder enforces without an Edge. */
export interface HeldLimits {
  /** The mark of the run's processes, which its environment contains: `NAME=value`. */
  readonly mark: string
  /** Maximum number of bytes of stdout that are stored. Beyond it, the run cannot be continued by the next Edge. */
  readonly maxBytes: number
  readonly until: HeldUntil
}

export interface AdoptedProcess {
  /** Position in stdout from which on it is read. */
  readonly from: number
  readonly isConfined: boolean
  readonly control?: SubprocessSpec["control"]
}

/** The end of a process whose holder ended. */
const LOST = { code: null, signal: "SIGKILL", stderr: "" } as const

export class HeldProcess implements RunChild {
  readonly isConfined: boolean
  readonly #connection: HeldRunConnection
  readonly #handlers: RunChildHandlers
  #pid: number | undefined
  #startTicks = 0
  #isGone = false
  #hasEnded = false
  #endedBy: HeldEnder | undefined
  #channel: ControlChannel | undefined

  private constructor(connection: HeldRunConnection, isConfined: boolean, handlers: RunChildHandlers) {
    this.#connection = connection
    this.isConfined = isConfined
    this.#handlers = handlers
    connection.attach({
      onData: handlers.onChunk,
      onStarted: ({ pid, startTicks }) => {
        this.#pid = pid
        this.#startTicks = startTicks
      },
      onSpawnError: (error) => this.#refuseStart(error),
      onGone: (exit) => {
        this.#isGone = true
        this.#handlers.onGone?.(exit)
      },
      onEnded: (end) => this.#end(end),
      onControl: (bytes) => this.#channel?.receive(bytes),
      onClose: () => this.#end(LOST)
    })
  }

  /** Creates the program's files and starts it. Its `pid` is known a moment later. */
  static start(
    connection: HeldRunConnection,
    spec: SubprocessSpec,
    limits: HeldLimits,
    handlers: RunChildHandlers
  ): HeldProcess {
    const child = new HeldProcess(connection, spec.isConfined === true, handlers)
    try {
      const { group } = connection.opened
      const isInGroup = group !== undefined && group === spec.group
      const command = makeProgramFiles({ ...spec, isInGroup })
      connection.start(startOf(spec, command, limits))
      if (spec.control !== undefined) child.#openChannel(spec.control)
      connection.read(0)
    } catch (error) {
      child.#refuseStart(error instanceof Error ? error : new Error(String(error)))
    }
    if (connection.isClosed) process.nextTick(() => child.#end(LOST))
    return child
  }

  /** Continues with a process that was started for an earlier Edge: `connection.opened.started` has it. */
  static adopt(
    connection: HeldRunConnection,
    adopted: AdoptedProcess,
    handlers: RunChildHandlers
  ): HeldProcess {
    const child = new HeldProcess(connection, adopted.isConfined, handlers)
    const { exit, opened } = connection
    child.#pid = opened.started?.pid
    child.#startTicks = opened.started?.startTicks ?? 0
    if (exit !== undefined) {
      child.#isGone = true
      process.nextTick(() => handlers.onGone?.(exit))
    }
    if (opened.spawnError !== undefined) child.#refuseStart(opened.spawnError)
    else if (connection.isClosed) process.nextTick(() => child.#end(LOST))
    else {
      if (adopted.control !== undefined) child.#openChannel(adopted.control)
      connection.read(adopted.from)
    }
    return child
  }

  get pid(): number | undefined {
    return this.#pid
  }

  get startTicks(): number {
    return this.#startTicks
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Why the holder ended the run while no Edge was connected. Known with `onEnd`. */
  get endedBy(): HeldEnder | undefined {
    return this.#endedBy
  }

  write(text: string | Uint8Array): void {
    this.#connection.write(text)
  }

  closeInput(): void {
    this.#connection.closeInput()
  }

  pause(): void {
    this.#connection.pause()
  }

  resume(): void {
    this.#connection.resume()
  }

  reportUnread(bytes: number): void {
    this.#connection.reportUnread(bytes)
  }

  #openChannel(control: NonNullable<SubprocessSpec["control"]>): void {
    this.#channel = new ControlChannel(this.#connection)
    control(this.#channel)
  }

  #refuseStart({ code, message }: HeldSpawnError): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#isGone = true
    this.#channel?.destroy()
    const error = Object.assign(new Error(message), code === undefined ? {} : { code })
    process.nextTick(() => this.#handlers.onSpawnError(error))
  }

  #end(end: HeldEnd | typeof LOST): void {
    const { by, code, signal, stderr } = { by: undefined, ...end }
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#endedBy = by
    this.#channel?.destroy()
    if (!this.#isGone) {
      this.#isGone = true
      this.#handlers.onGone?.({ code, signal })
    }
    this.#handlers.onEnd({ code, signal, stderr, ...(end === LOST ? { isHolderLost: true } : {}) })
  }
}

const startOf = (
  { cwd, env, group, isConfined, control, stdin }: SubprocessSpec,
  { args, file }: { readonly file: string; readonly args: ReadonlyArray<string> },
  { mark, maxBytes, until }: HeldLimits
): HeldStart => ({
  file,
  args,
  cwd,
  env,
  stdin,
  isConfined: isConfined === true,
  hasControl: control !== undefined,
  group,
  mark,
  maxBytes,
  until
})
