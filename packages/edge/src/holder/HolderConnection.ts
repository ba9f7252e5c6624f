/**
 * One accepted connection of the holder: the control connection of an Edge, or that of a run.
 *
 * Guarantees: accepts nothing before the first frame has the key. Bytes that are not frames of an Edge end the connection.
 */
import { timingSafeEqual } from "node:crypto"
import type { Socket } from "node:net"
import type { HeldRun, HeldRunPeer } from "./HeldRun.ts"
import { FrameReader, frameOf, frameTypes, HOLDER_FORMAT, jsonFrame, writeFrame } from "./HolderFrames.ts"
import {
  fieldsOf,
  groupsFolderIn,
  helloIn,
  keptKeyIn,
  type HolderHello,
  positionIn,
  runNameIn,
  heldStartIn,
  untilIn,
  windowIn
} from "./HolderMessages.ts"

/** Maximum payload before the key was received. */
const MAX_FIRST = 4_096
const FRAME_MAX = 16_777_216
/** Milliseconds for the first frame. */
const FIRST_WITHIN = 5_000
const MAX_BLOB = 67_108_864

export interface HolderRegistry {
  readonly key: Buffer
  readonly build: string
  /** Unix time in milliseconds. */
  readonly now: () => number
  /** Makes this the control connection. */
  readonly control: (connection: HolderConnection, hello: Omit<HolderHello, "key">) => void
  /** The run, created if it is new; `undefined` without a control connection. */
  readonly open: (
    connection: HolderConnection,
    run: string,
    groups: string | undefined
  ) => { readonly run: HeldRun; readonly isNew: boolean } | undefined
  /** The Edge is done with the run. */
  readonly endRun: (run: HeldRun) => void
  /** The holder ends when it has no runs. */
  readonly endWhenIdle: () => void
  readonly closed: (connection: HolderConnection) => void
}

export class HolderConnection implements HeldRunPeer {
  readonly #socket: Socket
  readonly #registry: HolderRegistry
  readonly #reader: FrameReader
  readonly #first: NodeJS.Timeout
  #kind: "new" | "control" | "run" = "new"
  #run: HeldRun | undefined
  #blob: Array<Buffer> = []
  #blobBytes = 0

  constructor(socket: Socket, registry: HolderRegistry) {
    this.#socket = socket
    this.#registry = registry
    this.#first = setTimeout(() => socket.destroy(), FIRST_WITHIN)
    this.#reader = new FrameReader(
      {
        onFrame: (type, payload) => this.#receive(type, payload),
        onInvalid: (reason) => this.refuse(reason)
      },
      { maxPayload: MAX_FIRST }
    )
    socket.on("data", (chunk: Buffer) => this.#reader.push(chunk))
    socket.on("drain", () => this.#run?.drained())
    socket.on("error", () => undefined)
    socket.on("end", () => socket.destroy())
    socket.once("close", () => this.#close())
  }

  readonly send = (frame: Buffer): void => {
    if (this.#socket.writable) this.#socket.write(frame)
  }

  readonly sendBytes = (type: number, bytes: Buffer): boolean =>
    this.#socket.writable && writeFrame(this.#socket, type, bytes)

  readonly pauseReading = (): void => void this.#socket.pause()

  readonly resumeReading = (): void => void this.#socket.resume()

  readonly finish = (): void => this.#socket.destroySoon()

  readonly refuse = (reason: string): void => {
    this.#reader.stop()
    this.send(jsonFrame(frameTypes.refused, { reason }))
    this.#socket.destroySoon()
    this.#close()
  }

  /** Ends the connection without a reason: its Edge is gone. */
  destroy(): void {
    this.#socket.destroy()
  }

  #close(): void {
    clearTimeout(this.#first)
    this.#reader.stop()
    this.#run?.detach(this)
    this.#run = undefined
    this.#registry.closed(this)
  }

  #receive(type: number, payload: Buffer): void {
    if (this.#run !== undefined) this.#receiveForRun(this.#run, type, payload)
    else if (this.#kind === "control") {
      if (type === frameTypes.endHolder) this.#registry.endWhenIdle()
      else this.refuse(`a control connection does not accept frames of type ${type}`)
    } else this.#receiveFirst(type, payload)
  }

  #receiveFirst(type: number, payload: Buffer): void {
    clearTimeout(this.#first)
    const fields = fieldsOf(payload)
    if (!this.#hasKey(fields?.key)) return this.refuse("the key is missing or wrong")
    this.#reader.maxPayload = FRAME_MAX
    if (type === frameTypes.hello) return this.#greet(fields)
    const name = type === frameTypes.open ? runNameIn(fields) : undefined
    const opened = name === undefined ? undefined : this.#registry.open(this, name, groupsFolderIn(fields))
    if (opened === undefined) return this.refuse("the run cannot be opened")
    this.#kind = "run"
    this.#run = opened.run
    opened.run.attach(this, opened.isNew)
  }

  #greet(fields: Parameters<typeof helloIn>[0]): void {
    const { build } = this.#registry
    if (fields?.format !== HOLDER_FORMAT) {
      // Any holder says its own format, so that the Edge can name both.
      this.send(jsonFrame(frameTypes.welcome, { format: HOLDER_FORMAT, build, pid: process.pid, runs: [] }))
      return this.refuse("another format")
    }
    const hello = helloIn(fields)
    if (hello === undefined) return this.refuse("an invalid hello")
    this.#kind = "control"
    this.#registry.control(this, hello)
  }

  #hasKey(key: unknown): boolean {
    if (typeof key !== "string") return false
    const candidate = Buffer.from(key)
    return candidate.length === this.#registry.key.length && timingSafeEqual(candidate, this.#registry.key)
  }

  #receiveForRun(run: HeldRun, type: number, payload: Buffer): void {
    switch (type) {
      case frameTypes.write:
        return run.write(payload) ? undefined : this.refuse("the run is not started")
      case frameTypes.control:
        return run.writeControl(payload)
      case frameTypes.closeInput:
        return run.closeInput()
      case frameTypes.keepPart:
      case frameTypes.keep:
        return this.#keep(run, payload, type === frameTypes.keep)
      case frameTypes.start: {
        const spec = heldStartIn(fieldsOf(payload))
        if (spec === undefined || !run.start(spec, this.#registry.now()))
          this.refuse("the run cannot be started")
        return
      }
      case frameTypes.read: {
        const fields = fieldsOf(payload)
        const from = positionIn(fields)
        if (from === undefined || !run.read(from, windowIn(fields))) this.refuse("that output is not stored")
        return
      }
      case frameTypes.processed: {
        const from = positionIn(fieldsOf(payload))
        if (from === undefined || !run.processed(from)) this.refuse("that output was not sent")
        return
      }
      case frameTypes.until: {
        const until = untilIn(fieldsOf(payload))
        return until === undefined ? this.refuse("the times are invalid") : run.setUntil(until)
      }
      case frameTypes.keepKey: {
        const privateKey = keptKeyIn(fieldsOf(payload))
        return privateKey === undefined ? this.refuse("the key is invalid") : run.keepKey(...privateKey)
      }
      case frameTypes.endRun:
        return this.#registry.endRun(run)
      default:
        return this.refuse(`a run does not accept frames of type ${type}`)
    }
  }

  #keep(run: HeldRun, payload: Buffer, isLast: boolean): void {
    this.#blob.push(payload)
    this.#blobBytes += payload.length
    if (this.#blobBytes > MAX_BLOB) return this.refuse("the state to keep is too large")
    if (!isLast) return
    run.blob = Buffer.concat(this.#blob)
    this.#blob = []
    this.#blobBytes = 0
    this.send(frameOf(frameTypes.kept))
  }
}
