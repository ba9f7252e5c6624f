/**
 * One child process: chunks of stdout, the end of stderr, a stdin that may break, and the exit. Reads of a child's pipe into one
 * buffer, which all pipes share.
 *
 * Node's stream allocates 64 KiB for each read and passes it through a queue, which costs a process that only forwards more than all
 * its other work. Sockets that a program connects have `onread` for this; pipes of children have it only by the handle that both
 * share.
 *
 * Guarantees: the child leads its own session and process group. `onEnd` runs once, when the process has ended and its output is read.
 * If a grandchild still holds stdout, the end comes `LINGER_MS` after the last chunk.
 *
 * Does not: kill processes; `Containment` does. It creates the control group and the temporary folder, and does not remove them.
 */
import type { RuntimeCommand } from "@corral/domain/run/RuntimeAdapter"
import { type ChildProcess, spawn } from "node:child_process"
import { Socket } from "node:net"
import { constants } from "node:os"
import { Duplex, type Readable, type Writable } from "node:stream"
import type { Launcher } from "./Launcher.ts"
import { processStartTime } from "./MarkSearch.ts"
import { makeProgramFiles, type ProgramFilesSpec } from "./ProgramFiles.ts"
import type { RunChild, RunChildHandlers } from "./RunChild.ts"

/** Node's handle of a pipe, which a socket can be made of. */
interface PipeOwner {
  _handle?: { readonly useUserBuffer?: unknown } | null
}

const READ_BYTES = 65_536
let shared: Buffer | undefined

/** Moves the pipe of `stdout` to a socket with shared reads. Returns the stream if this version of Node has no such handle. */
const withSharedReads = (stdout: Readable, onRead: (bytes: Buffer) => void): Readable => {
  // Node declares no handle. What is used of it is checked here.
  const owner = stdout as unknown as PipeOwner
  const handle = owner._handle
  if (typeof handle?.useUserBuffer !== "function") return stdout.on("data", onRead)
  owner._handle = null
  const buffer = (shared ??= Buffer.allocUnsafeSlow(READ_BYTES))
  const options = {
    handle,
    readable: true,
    writable: false,
    onread: {
      buffer,
      callback: (count: number) => {
        onRead(buffer.subarray(0, count))
        return true
      }
    }
  }
  return new Socket(options)
}

export interface SubprocessSpec extends ProgramFilesSpec {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: RuntimeCommand["stdin"]
  /** Absolute path of the program that `file` starts, if `file` is a bridge. */
  readonly bridged?: string | undefined
  /** Whether `file` is the program that confines the runtime. It is the parent of a session with the runtime, and reports its end. */
  readonly isConfined?: boolean | undefined
  /** Receives a socket that is descriptor 3 of the program. It ends with the process. */
  readonly control?: ((channel: Duplex) => void) | undefined
  /** The shell that becomes the program, in the group of the program. Without it, or if it has ended, the program enters the group. */
  readonly launcher?: Launcher | undefined
}

interface StartedProgram {
  readonly child: ChildProcess
  readonly stdin: Writable | undefined
}

export interface SubprocessHandlers extends RunChildHandlers {
  /** Stdin accepts more again, after `write` has returned `false`. */
  readonly onDrain?: () => void
  /** Chunks are valid until `onChunk` returns. */
  readonly hasSharedReads?: boolean
}

const STDERR_TAIL = 16_384
/** Maximum length of a partial word at the beginning of the tail. */
const LONGEST_WORD = 4_096
const LINGER_MS = 100
/** Maximum wait, even if a survivor continues to print. */
const LINGER_LIMIT_MS = 500

/** Node reports some failures as an event, and throws others, such as an argument list that is too long. */
const start = (spec: SubprocessSpec): StartedProgram | NodeJS.ErrnoException => {
  const { control, cwd, env, launcher, stdin } = spec
  try {
    if (launcher?.isReady === true) {
      const { args, file } = spec
      const [hasStdin, hasControl] = [stdin !== "ignore", control !== undefined]
      const launched = launcher.launch({ file, args, cwd, env, hasStdin, hasControl })
      if (launched !== undefined) return launched
    }
    const { args, file } = makeProgramFiles(spec)
    const child = spawn(file, args, {
      cwd,
      env,
      detached: true,
      stdio: [
        stdin === "ignore" ? "ignore" : "pipe",
        "pipe",
        "pipe",
        ...(control === undefined ? [] : ["pipe" as const])
      ]
    })
    return { child, stdin: child.stdin ?? undefined }
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** The tail from its first whole word. Half a word may be half a secret, which redaction would not find. */
const fromWord = (tail: string): string => {
  const begin = tail.length < STDERR_TAIL ? 0 : tail.search(/\s/)
  return begin > LONGEST_WORD ? tail : tail.slice(Math.max(0, begin))
}

const signals = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals])
)

/** The end of a confined program. What confines it reports a signal as a shell does: 128 and its number. */
const endInside = (code: number | null, signal: NodeJS.Signals | null): Exit => {
  const inside = code === null ? undefined : signals.get(code - 128)
  return inside === undefined ? { code, signal } : { code: null, signal: inside }
}

interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export class Subprocess implements RunChild {
  readonly pid: number | undefined
  readonly startTicks: number = 0
  readonly isConfined: boolean
  private readonly child: ChildProcess | undefined
  private readonly stdin: Writable | undefined
  private readonly handlers: SubprocessHandlers
  private readonly channel: Duplex | undefined
  private readonly stdout: Readable | undefined
  private stderr = ""
  private exit: Exit | undefined
  private stdoutEnded = false
  private hasEnded = false
  private linger: NodeJS.Timeout | undefined
  private lingerUntil: number | undefined

  constructor(spec: SubprocessSpec, handlers: SubprocessHandlers) {
    this.handlers = handlers
    this.isConfined = spec.isConfined === true
    const started = start(spec)
    if (started instanceof Error) {
      process.nextTick(() => this.handlers.onSpawnError(started))
      return
    }
    const { child, stdin } = started
    this.child = child
    this.stdin = stdin
    this.pid = child.pid
    this.startTicks = processStartTime(child.pid)
    child.on("error", (error) => {
      if (child.pid === undefined) this.handlers.onSpawnError(error)
    })
    if (child.stdout !== null) this.stdout = this.readFrom(child.stdout)
    const channel = child.stdio[3]
    if (spec.control !== undefined && channel instanceof Duplex) {
      this.channel = channel
      spec.control(channel)
    }
    child.stderr?.setEncoding("utf8")
    child.stderr?.on("data", (text: string) => {
      this.stderr = (this.stderr + text).slice(-STDERR_TAIL)
    })
    child.stderr?.on("error", () => undefined)
    // The pipe breaks if the child has ended. `exit` reports its end.
    stdin?.on("error", () => this.handlers.onDrain?.())
    if (handlers.onDrain !== undefined) stdin?.on("drain", handlers.onDrain)
    child.once("exit", (code, signal) => {
      this.exit = this.isConfined ? endInside(code, signal) : { code, signal }
      this.handlers.onGone?.(this.exit)
      this.settle()
    })
  }

  get isGone(): boolean {
    return this.exit !== undefined || this.pid === undefined
  }

  /** Returns whether stdin accepts more now. What is written meanwhile waits in memory. */
  write(input: string | Uint8Array): boolean {
    return this.stdin?.writable !== true || this.stdin.write(input)
  }

  closeInput(): void {
    this.stdin?.end()
  }

  pause(): void {
    this.stdout?.pause()
  }

  resume(): void {
    this.stdout?.resume()
  }

  private readFrom(stdout: Readable): Readable {
    const onRead = (chunk: Buffer) => {
      if (this.hasEnded) return
      if (this.exit !== undefined) this.restartLinger()
      this.handlers.onChunk(chunk)
    }
    const reads =
      this.handlers.hasSharedReads === true ? withSharedReads(stdout, onRead) : stdout.on("data", onRead)
    reads.on("error", () => undefined)
    return reads.once("close", () => {
      this.stdoutEnded = true
      this.settle()
    })
  }

  private restartLinger(): void {
    clearTimeout(this.linger)
    this.lingerUntil ??= performance.now() + LINGER_LIMIT_MS
    const left = Math.max(0, this.lingerUntil - performance.now())
    const linger = setTimeout(
      // If the thread was busy, the timer is late and comes before reads that wait in the pipe.
      () => setImmediate(() => (this.linger === linger ? this.reportEnd() : undefined)),
      Math.min(LINGER_MS, left)
    )
    this.linger = linger
  }

  private settle(): void {
    if (this.exit === undefined) return
    if (this.stdoutEnded) this.reportEnd()
    else this.restartLinger()
  }

  private reportEnd(): void {
    if (this.hasEnded || this.exit === undefined) return
    // Paused by the reader: buffered output has not been read yet.
    if (!this.stdoutEnded && this.stdout?.isPaused() === true) {
      this.linger = setTimeout(() => this.reportEnd(), LINGER_MS)
      return
    }
    this.hasEnded = true
    clearTimeout(this.linger)
    this.stdout?.destroy()
    this.child?.stderr?.destroy()
    this.stdin?.destroy()
    this.channel?.destroy()
    this.handlers.onEnd({ ...this.exit, stderr: fromWord(this.stderr) })
  }
}
