/**
 * Connection of the Edge to one run of the holder.
 *
 * Guarantees: what the holder said about the run when the connection opened does not change (`opened`, `blob`). Frames arrive in order.
 *
 * Does not: reconnect. A connection that breaks means that the holder has died, and its programs lose their pipes.
 */
import { Effect } from "effect"
import type { Socket } from "node:net"
import { readFileSync } from "node:fs"
import { HolderFailed } from "./HolderControl.ts"
import { type HolderPlace, holderKeyFile } from "./HolderPlace.ts"
import { connectSocket, frameOf, frameTypes, jsonFrame, textFrame } from "./HolderFrames.ts"
import type {
  HeldEnd,
  HeldExit,
  HeldOpen,
  HeldProcessed,
  HeldRead,
  HeldSpawnError,
  HeldStart,
  HeldStarted,
  HeldUntil,
  OpenedRun
} from "./HolderMessages.ts"

/** What arrives on the connection once a process uses it. */
export interface HeldRunReceiver {
  /** A part of stdout, in its own memory. */
  readonly onData: (bytes: Buffer) => void
  readonly onStarted: (started: HeldStarted) => void
  readonly onSpawnError: (error: HeldSpawnError) => void
  readonly onGone: (exit: HeldExit) => void
  readonly onEnded: (end: HeldEnd) => void
  /** Bytes of descriptor 3, valid until the return. */
  readonly onControl: (bytes: Buffer) => void
  /** The holder has died, or closed the connection. */
  readonly onClose: (reason: Error) => void
}

/** Bytes of output that the holder sends beyond what the run has processed. */
const WINDOW = 262_144
/** Bytes after which the holder learns what was processed: no frame for single events. */
const REPORT_EVERY = 65_536
/** From this size on, reads have their own memory. Node's buffers share it below. */
const WORTH_RELEASING = 16_384
/** Code of a failure of a connection that the holder has closed without a word. */
export const CONNECTION_LOST = "CONNECTION_LOST"
/** Payload of one `keepPart` or `write` frame. */
const PART = 4_194_304

/** Written by `jsonFrame` of the same format. A program that took the holder's place may send anything. */
const parsed = <A>(payload: Buffer): A | undefined => {
  try {
    return JSON.parse(payload.toString("utf8")) as A
  } catch {
    return undefined
  }
}

/** A connection on which the holder has not yet said what it has of the run. */
interface Opening {
  /** Whether a state was sent. */
  readonly keeps: boolean
  readonly resume: (exit: Effect.Effect<HeldRunConnection, HolderFailed>) => void
  readonly blob: Array<Buffer>
  /** Bytes of the blob that have not arrived. */
  missing: number
  opened?: OpenedRun | undefined
}

/** What the holder has of the run, once all of it has arrived. */
const openedBy = (opening: Opening, type: number, payload: Buffer): OpenedRun | undefined => {
  if (type === frameTypes.opened) {
    opening.opened = parsed<OpenedRun>(payload)
    opening.missing = opening.opened?.keepBytes ?? 0
  } else if (type === frameTypes.blob) {
    opening.blob.push(Buffer.from(payload))
    opening.missing -= payload.length
  }
  return opening.missing > 0 ? undefined : opening.opened
}

export class HeldRunConnection {
  readonly opened: OpenedRun
  /** The state that an Edge kept last. */
  readonly blob: Buffer
  readonly #socket: Socket
  readonly #keepWaiters: Array<(isKept: boolean) => void> = []
  #receiver: HeldRunReceiver | undefined
  #closed: NodeJS.ErrnoException | undefined
  /** Position in stdout after what was received. */
  #received = 0
  /** Position up to which the holder knows that output was processed. */
  #reported = 0
  #exit: HeldExit | undefined
  readonly #closeListeners: Array<() => void> = []

  private constructor(socket: Socket, opened: OpenedRun, blob: Buffer) {
    this.#socket = socket
    this.opened = opened
    this.blob = blob
    this.#exit = opened.exit
  }

  /**
   * Opens the run, which is created if the holder does not have it. With `state`, succeeds when the holder has it, as `keep` does: both are sent
   * together. With `groups`, a folder of control groups, the run may start at once, in a group that the holder has prepared there. Fails without a
   * control connection.
   */
  static readonly open = (
    place: HolderPlace,
    run: string,
    state?: Uint8Array,
    groups?: string
  ): Effect.Effect<HeldRunConnection, HolderFailed> =>
    Effect.callback((resume) => {
      const socket = HeldRunConnection.#connect(place, {
        keeps: state !== undefined,
        resume,
        blob: [],
        missing: 0
      })
      try {
        const key = readFileSync(holderKeyFile(place.folder), "utf8")
        socket.write(jsonFrame(frameTypes.open, { run, key, groups } satisfies HeldOpen))
        if (state !== undefined) writeState(socket, state)
      } catch (error) {
        socket.destroy(error instanceof Error ? error : undefined)
      }
      return Effect.sync(() => void socket.destroy())
    })

  /** The socket lives as long as the run: its handlers forget what only the opening needs, such as the state. */
  static #connect(place: HolderPlace, first: Opening): Socket {
    let opening: Opening | undefined = first
    let connection: HeldRunConnection | undefined
    const socket = connectSocket(place.socket, {
      onData: (piece) => (connection === undefined ? undefined : connection.#receiveData(piece)),
      onFrame: (type, payload) => {
        if (connection !== undefined) return connection.#receive(type, payload)
        if (opening === undefined) return
        const opened = openedBy(opening, type, payload)
        if (opened === undefined) return
        connection = new HeldRunConnection(socket, opened, Buffer.concat(opening.blob))
        connection.#answer(opening)
        opening = undefined
      },
      onClose: (reason) => {
        if (connection !== undefined) connection.#receiveClose(reason)
        else opening?.resume(Effect.fail(openFailure(reason)))
      }
    })
    return socket
  }

  /** Succeeds now, or when the holder has the state. */
  #answer({ keeps, resume }: Opening): void {
    if (!keeps) return resume(Effect.succeed(this))
    this.#keepWaiters.push((isKept) =>
      resume(isKept ? Effect.succeed(this) : Effect.fail(lostHolder(this.#closed)))
    )
  }

  /** Whether the holder has died, or the connection was closed. */
  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** The exit of the process, also of one that exited before `receiver` was set. */
  get exit(): HeldExit | undefined {
    return this.#exit
  }

  /** Calls the listener when the connection closes. */
  onClosed(listener: () => void): void {
    this.#closeListeners.push(listener)
  }

  /** Sets what receives the frames. */
  attach(receiver: HeldRunReceiver): void {
    this.#receiver = receiver
  }

  /** Starts the program. The answer is `onStarted` or `onSpawnError`. */
  start(spec: HeldStart): void {
    this.#socket.write(jsonFrame(frameTypes.start, spec))
  }

  /** Replaces the times at which the holder ends the run if no Edge is connected, such as after a pause. */
  setUntil(until: HeldUntil): void {
    if (this.#socket.writable) this.#socket.write(jsonFrame(frameTypes.until, until))
  }

  /** Keeps the private key of a question for the next Edge. A holder of an earlier version keeps none. */
  keepKey(id: string, key: string): void {
    if (this.opened.keys !== undefined && this.#socket.writable)
      this.#socket.write(jsonFrame(frameTypes.keepKey, { id, key }))
  }

  /** Lets stdout flow from that byte on. */
  read(from: number): void {
    this.#received = from
    this.#reported = from
    const window = this.opened.hasWindow === true ? WINDOW : undefined
    this.#socket.write(jsonFrame(frameTypes.read, { from, window } satisfies HeldRead))
  }

  /** Reports how many of the received bytes are not processed. A holder of an earlier version sends without a window. */
  reportUnread(bytes: number): void {
    const from = this.#received - bytes
    if (from - this.#reported < REPORT_EVERY || this.opened.hasWindow !== true) return
    this.#reported = from
    if (this.#socket.writable)
      this.#socket.write(jsonFrame(frameTypes.processed, { from } satisfies HeldProcessed))
  }

  write(text: string | Uint8Array): void {
    if (!this.#socket.writable) return
    if (typeof text !== "string") this.#writeParts(frameTypes.write, text)
    else if (text.length <= PART) this.#socket.write(textFrame(frameTypes.write, text))
    else this.#writeParts(frameTypes.write, Buffer.from(text))
  }

  writeControl(bytes: Uint8Array): void {
    if (this.#socket.writable) this.#writeParts(frameTypes.control, bytes)
  }

  closeInput(): void {
    if (this.#socket.writable) this.#socket.write(frameOf(frameTypes.closeInput))
  }

  /** Leaves what arrives unread. Up to 64 KiB that were read already may still arrive. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Replaces the state that the next Edge receives. Succeeds when the holder has it. */
  keep(state: Uint8Array): Effect.Effect<void, HolderFailed> {
    return Effect.callback((resume) => {
      if (this.#closed !== undefined) return resume(Effect.fail(lostHolder(this.#closed)))
      this.#keepWaiters.push((isKept) => resume(isKept ? Effect.void : Effect.fail(lostHolder(this.#closed))))
      writeState(this.#socket, state)
    })
  }

  /** The run is over: the holder kills its process if there is one, and deletes what it has stored. Succeeds when the holder has done so. */
  get end(): Effect.Effect<void> {
    return Effect.callback((resume) => {
      if (this.#closed !== undefined) return resume(Effect.void)
      this.onClosed(() => resume(Effect.void))
      this.#socket.write(frameOf(frameTypes.endRun))
      // Paused by a run that no longer reads, the end would not be seen.
      this.#socket.resume()
    })
  }

  /** Closes the connection without a word to its receiver. The run continues. */
  close(): void {
    this.#receiver = undefined
    this.#socket.destroy()
  }

  /** Closes the connection, and tells the receiver that the holder is lost. */
  abandon(reason: string): void {
    this.#socket.destroy(new Error(reason))
  }

  #writeParts(type: number, bytes: Uint8Array): void {
    writeParts(this.#socket, type, bytes)
  }

  #receiveData(piece: Buffer): void {
    this.#received += piece.length
    // A copy, because the read buffer is reused. A large one has its own memory, which the run releases early.
    if (piece.length < WORTH_RELEASING) return this.#receiver?.onData(Buffer.from(piece))
    const copy = Buffer.allocUnsafeSlow(piece.length)
    copy.set(piece)
    this.#receiver?.onData(copy)
  }

  #receive(type: number, payload: Buffer): void {
    const receiver = this.#receiver
    if (type === frameTypes.kept) return this.#keepWaiters.shift()?.(true)
    if (type === frameTypes.control) return receiver?.onControl(payload)
    const value = parsed<HeldStarted & HeldSpawnError & HeldEnd>(payload)
    if (value === undefined) return this.abandon(`a frame of type ${type} is not JSON`)
    if (type === frameTypes.started) receiver?.onStarted(value)
    else if (type === frameTypes.spawnError) receiver?.onSpawnError(value)
    else if (type === frameTypes.ended) receiver?.onEnded(value)
    else if (type === frameTypes.gone) {
      this.#exit = value
      receiver?.onGone(value)
    }
  }

  #receiveClose(reason: NodeJS.ErrnoException): void {
    this.#closed = reason
    for (const fail of this.#keepWaiters.splice(0)) fail(false)
    for (const listener of this.#closeListeners.splice(0)) listener()
    this.#receiver?.onClose(reason)
  }
}

const openFailure = ({ code = CONNECTION_LOST, message }: NodeJS.ErrnoException): HolderFailed =>
  new HolderFailed({ message: `Can't open the run: ${message}.`, code })

const lostHolder = (
  { code = CONNECTION_LOST, message }: NodeJS.ErrnoException = new Error("closed")
): HolderFailed => new HolderFailed({ message: `The connection to the holder broke: ${message}.`, code })

const writeParts = (socket: Socket, type: number, bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length; at += PART) socket.write(frameOf(type, bytes.subarray(at, at + PART)))
}

const writeState = (socket: Socket, state: Uint8Array): void => {
  const last = Math.max(0, Math.ceil(state.length / PART) - 1) * PART
  if (last > 0) writeParts(socket, frameTypes.keepPart, state.subarray(0, last))
  socket.write(frameOf(frameTypes.keep, state.subarray(last)))
}
