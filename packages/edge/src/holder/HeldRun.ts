/**
 * One run in the holder: its process, what it has printed and accepted, and the connection of the Edge that reads it.
 *
 * Guarantees: a complete `write` frame is counted and reaches the program once. A program that does not read its stdin leaves the
 * connection unread.
 *
 * Does not: end with its connection. The holder ends it when the Edge says so, or when its time is over.
 */
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { removeGroup } from "../process/ControlGroup.ts"
import { processStartTime } from "../process/MarkSearch.ts"
import type { ProcessTarget } from "../process/ProcessSweep.ts"
import { endLauncher, type Launcher } from "../process/Launcher.ts"
import { Subprocess } from "../process/Subprocess.ts"
import { HeldOutput } from "./HeldOutput.ts"
import { frameTypes, jsonFrame } from "./HolderFrames.ts"
import type {
  HeldEnd,
  HeldEnder,
  HeldExit,
  HeldRunSummary,
  HeldSpawnError,
  HeldStart,
  HeldStarted,
  HeldUntil,
  OpenedRun
} from "./HolderMessages.ts"

/** The connection of an Edge to one run. */
export interface HeldRunPeer {
  readonly send: (frame: Buffer) => void
  /** Returns whether the connection accepts more now. */
  readonly sendBytes: (type: number, bytes: Buffer) => boolean
  readonly pauseReading: () => void
  readonly resumeReading: () => void
  /** Ends the connection after what was sent. */
  readonly finish: () => void
  /** Ends the connection, with a reason for the Edge's log. */
  readonly refuse: (reason: string) => void
}

export interface HeldRunOptions {
  /** Where its output is stored. */
  readonly folder: string
  readonly launcher: Launcher | undefined
  readonly listener: HeldRunListener
}

export interface HeldRunListener {
  /** Its output is no longer whole. */
  readonly onIncomplete: (run: HeldRun) => void
  /** Its process has exited, and all output was read. */
  readonly onEnded: (run: HeldRun) => void
}

/** Payload of one `blob` frame. */
const BLOB_PART = 4_194_304
/** Milliseconds in which the id of an ended process is not used again: ids are given in order. */
const LATELY_MS = 10_000
const NOTHING = Buffer.alloc(0)
/** Of limits that are reached together, the first one counts. */
const limitNames = ["wall", "background", "cap"] as const

export class HeldRun {
  readonly id: string
  /** Opaque state of the Edge. In memory only, because it contains secrets. */
  blob = NOTHING
  /** Private keys of questions. In memory only. */
  readonly #keys = new Map<string, string>()
  readonly #path: string
  readonly #listener: HeldRunListener
  /** The shell that becomes its program. */
  #launcher: Launcher | undefined
  #group: string | undefined
  #child: Subprocess | undefined
  #channel: Duplex | undefined
  #output: HeldOutput | undefined
  #peer: HeldRunPeer | undefined
  #startedAt: number | undefined
  #started: HeldStarted | undefined
  #spawnError: HeldSpawnError | undefined
  #target: ProcessTarget | undefined
  #until: HeldUntil = {}
  #ender: HeldEnder | undefined
  #stdinBytes = 0
  #isInputClosed = false
  #exit: HeldExit | undefined
  #exitedAt = 0
  #end: HeldEnd | undefined

  constructor(id: string, { folder, launcher, listener }: HeldRunOptions) {
    this.id = id
    this.#path = join(folder, `${id}.out`)
    this.#launcher = launcher
    this.#group = launcher?.group
    this.#listener = listener
  }

  get summary(): HeldRunSummary {
    return {
      id: this.id,
      startedAt: this.#startedAt,
      pid: this.#started?.pid,
      group: this.#group,
      hasEnded: this.#end !== undefined || this.#spawnError !== undefined
    }
  }

  /**
   * All its processes; `undefined` before the start. Without the leader of the session some time after its exit, because the system gives
   * its id to another process.
   */
  get target(): ProcessTarget | undefined {
    const hasEndedLately = performance.now() - this.#exitedAt < LATELY_MS
    if (this.#target === undefined || this.hasLeader || hasEndedLately) return this.#target
    return { ...this.#target, leader: undefined }
  }

  get hasLeader(): boolean {
    return this.#started !== undefined && this.#exit === undefined
  }

  /** The first of its times, if it is not over. */
  nextTime(): { readonly at: number; readonly by: HeldEnder } | undefined {
    if (this.#end !== undefined || this.#ender !== undefined) return undefined
    return limitNames.reduce<ReturnType<HeldRun["nextTime"]>>((first, by) => {
      const at = by === "background" ? this.#backgroundEnd : this.#until[by]
      return at === undefined || (first !== undefined && first.at <= at) ? first : { at, by }
    }, undefined)
  }

  /** `undefined` if the program has printed more than the Edge knew of when it set the time. */
  get #backgroundEnd(): number | undefined {
    const { applied = 0, background } = this.#until
    return (this.#output?.bytes ?? 0) > applied ? undefined : background
  }

  /** Whether no later Edge can continue it. */
  get isLost(): boolean {
    return this.#output?.isWhole === false && this.#end === undefined && this.#ender === undefined
  }

  keepKey(id: string, key: string): void {
    this.#keys.set(id, key)
  }

  setUntil(until: HeldUntil): void {
    this.#until = until
  }

  /** Notes who ends it. The holder then kills its processes. */
  endBy(ender: HeldEnder): void {
    this.#ender = ender
    if (ender === "output") this.#output?.delete()
  }

  /** Sends its state to a connection that replaces the one before. */
  attach(peer: HeldRunPeer, isNew: boolean): void {
    const replaced = this.#peer
    this.#peer = undefined
    this.#leaveUnread()
    replaced?.refuse("replaced by another connection")
    this.#peer = peer
    const opened: OpenedRun = {
      isNew,
      keepBytes: this.blob.length,
      group: this.#group,
      started: this.#started,
      spawnError: this.#spawnError,
      stdinBytes: this.#stdinBytes,
      isInputClosed: this.#isInputClosed,
      outputBytes: this.#output?.bytes ?? 0,
      isWhole: this.#output?.isWhole ?? true,
      keys: Object.fromEntries(this.#keys),
      hasWindow: true,
      exit: this.#exit,
      end: this.#end
    }
    peer.send(jsonFrame(frameTypes.opened, opened))
    for (let at = 0; at < this.blob.length; at += BLOB_PART)
      peer.sendBytes(frameTypes.blob, this.blob.subarray(at, at + BLOB_PART))
  }

  detach(peer: HeldRunPeer): void {
    if (this.#peer !== peer) return
    this.#peer = undefined
    this.#leaveUnread()
  }

  /** `false` if it was started before. `now`: unix time in milliseconds. */
  start(spec: HeldStart, now: number): boolean {
    if (this.#target !== undefined) return false
    this.#until = spec.until
    this.#group = spec.group
    const groups = spec.group === undefined ? undefined : [spec.group]
    this.#target = { mark: spec.mark, groups }
    const output = new HeldOutput({
      path: this.#path,
      maxBytes: spec.maxBytes,
      setPaused: (isPaused) => (isPaused ? this.#child?.pause() : this.#child?.resume()),
      onIncomplete: () => this.#listener.onIncomplete(this)
    })
    this.#output = output
    const { args, cwd, env, file, isConfined, stdin } = spec
    const control = spec.hasControl ? (channel: Duplex) => this.#openChannel(channel) : undefined
    const launcher = this.#launcher
    this.#launcher = undefined
    // Without a launcher, the command enters the group by itself.
    const group = launcher === undefined ? undefined : spec.group
    const child = new Subprocess(
      { file, args, cwd, env, isConfined, stdin, control, group, launcher },
      {
        onChunk: (bytes) => output.push(bytes),
        onGone: (exit) => this.#onGone(exit),
        onEnd: ({ code, signal, stderr }) => this.#onEnd({ code, signal, stderr, by: this.#ender }),
        onSpawnError: ({ code, message }) => this.#onSpawnError({ code, message }),
        onDrain: () => this.#resumePeer(),
        hasSharedReads: true
      }
    )
    this.#child = child
    if (child.pid === undefined) return true
    const startTicks = processStartTime(child.pid)
    this.#startedAt = now
    this.#started = { pid: child.pid, startTicks }
    const { isConfined: isEnclosed, mark } = spec
    this.#target = { mark, groups, leader: child.pid, since: startTicks, isEnclosed }
    this.#peer?.send(jsonFrame(frameTypes.started, this.#started))
    return true
  }

  /** Sends output from that position on. `false` if it is not stored. */
  read(from: number, window?: number): boolean {
    const peer = this.#peer
    if (peer === undefined || this.#output === undefined) return false
    this.#channel?.resume()
    return this.#output.read(from, {
      window,
      sendOutput: (bytes) => peer.sendBytes(frameTypes.data, bytes),
      onAllSent: () =>
        this.#end === undefined ? undefined : peer.send(jsonFrame(frameTypes.ended, this.#end)),
      onLost: () => peer.refuse("the stored output cannot be read")
    })
  }

  /** `false` if output before that position was not sent. */
  processed(position: number): boolean {
    return this.#output?.processed(position) ?? false
  }

  drained(): void {
    this.#channel?.resume()
    this.#output?.drained()
  }

  /** `false` before the start. */
  write(bytes: Buffer): boolean {
    if (this.#target === undefined) return false
    this.#stdinBytes += bytes.length
    if (this.#child?.write(bytes) !== false) return true
    this.#peer?.pauseReading()
    this.#output?.setReports(false)
    return true
  }

  closeInput(): void {
    this.#isInputClosed = true
    this.#child?.closeInput()
  }

  writeControl(bytes: Buffer): void {
    if (this.#channel?.writable === true) this.#channel.write(bytes)
  }

  /** Deletes what is stored, and its control group. Its processes were killed before. */
  async delete(): Promise<void> {
    this.#output?.delete()
    for (const group of this.#target?.groups ?? []) removeGroup(group)
    this.blob = NOTHING
    this.#keys.clear()
    if (this.#launcher !== undefined) await endLauncher(this.#launcher)
    this.#peer?.finish()
  }

  #resumePeer(): void {
    this.#peer?.resumeReading()
    this.#output?.setReports(true)
  }

  #leaveUnread(): void {
    this.#output?.detach()
    this.#channel?.pause()
  }

  #openChannel(channel: Duplex): void {
    this.#channel = channel
    channel.on("error", () => undefined)
    channel.on("data", (bytes: Buffer) => {
      if (this.#peer?.sendBytes(frameTypes.control, bytes) !== true) channel.pause()
    })
    channel.pause()
  }

  #onGone({ code, signal }: HeldExit): void {
    this.#exit = { code, signal }
    this.#exitedAt = performance.now()
    this.#peer?.send(jsonFrame(frameTypes.gone, this.#exit))
  }

  #onEnd(end: HeldEnd): void {
    this.#end = end
    // Releases the sockets: an ended run may wait long for its Edge.
    this.#child = undefined
    this.#channel = undefined
    this.#resumePeer()
    this.#output?.end()
    this.#listener.onEnded(this)
  }

  #onSpawnError(error: HeldSpawnError): void {
    this.#spawnError = error
    this.#output?.delete()
    this.#peer?.send(jsonFrame(frameTypes.spawnError, error))
  }
}
