/**
 * One child process, as its run's actor sees it: chunks of stdout, the tail of stderr, a stdin that may break, and an end.
 *
 * Guarantees: the child leads its own session and process group. `onEnd` runs once, when the process is gone and its output is read. If a
 * grandchild still holds stdout, the end comes `LINGER_MS` after the last chunk.
 *
 * Does not: kill; `Containment` does. Creates the control group and the temporary folder of the specification, and does not remove them.
 */
import type { ProcessEnd, RuntimeCommand, SettingsFile } from "@corral/domain/run/RuntimeAdapter"
import { type ChildProcess, spawn } from "node:child_process"
import { accessSync, constants, writeFileSync } from "node:fs"
import { join } from "node:path"
import { entering, makeGroup } from "./ControlGroup.ts"
import { makeTemporary } from "./TemporaryFolder.ts"

export interface SubprocessSpec {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: RuntimeCommand["stdin"]
  /** The control group that it is started in. */
  readonly group?: string | undefined
  /** Its private temporary folder, which its environment names. */
  readonly temporary?: string | undefined
  /** Written into the temporary folder before the start. */
  readonly settingsFiles?: ReadonlyArray<SettingsFile> | undefined
}

export interface SubprocessHandlers {
  readonly onChunk: (chunk: Buffer) => void
  /** The process has exited; what it had printed may still come. */
  readonly onGone?: () => void
  readonly onEnd: (end: ProcessEnd) => void
  /** The program could not be started at all. */
  readonly onSpawnError: (error: NodeJS.ErrnoException) => void
}

const STDERR_TAIL = 16_384
/** The end of a longer word may stand where the tail begins. */
const LONGEST_WORD = 4_096
const LINGER_MS = 100
/** Upper limit of the wait, even if a survivor keeps printing. */
const LINGER_LIMIT_MS = 500

/** The shell that enters the group would report a missing program as its own end. */
const inside = (group: string, { args, file }: SubprocessSpec) => {
  accessSync(file, constants.X_OK)
  makeGroup(group)
  return entering(group, file, args)
}

/** Some failures come as an event, others (an argument list that is too long, a zero byte) are thrown. */
const start = (spec: SubprocessSpec): ChildProcess | NodeJS.ErrnoException => {
  try {
    if (spec.temporary !== undefined) {
      makeTemporary(spec.temporary)
      for (const { content, name } of spec.settingsFiles ?? [])
        writeFileSync(join(spec.temporary, name), content, { mode: 0o600 })
    }
    const { args, file } = spec.group === undefined ? spec : inside(spec.group, spec)
    return spawn(file, args, {
      cwd: spec.cwd,
      env: spec.env,
      detached: true,
      stdio: [spec.stdin === "ignore" ? "ignore" : "pipe", "pipe", "pipe"]
    })
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** A full tail from its first whole word on: half a word may be half a secret, which redaction would not find. */
const fromWord = (tail: string): string => {
  const begin = tail.length < STDERR_TAIL ? 0 : tail.search(/\s/)
  return begin > LONGEST_WORD ? tail : tail.slice(Math.max(0, begin))
}

export class Subprocess {
  readonly pid: number | undefined
  private readonly child: ChildProcess | undefined
  private readonly handlers: SubprocessHandlers
  private stderr = ""
  private exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined
  private stdoutEnded = false
  private told = false
  private linger: NodeJS.Timeout | undefined
  private lingerUntil: number | undefined

  constructor(spec: SubprocessSpec, handlers: SubprocessHandlers) {
    this.handlers = handlers
    const child = start(spec)
    if (child instanceof Error) {
      process.nextTick(() => this.handlers.onSpawnError(child))
      return
    }
    this.child = child
    this.pid = child.pid
    child.on("error", (error) => {
      if (child.pid === undefined) this.handlers.onSpawnError(error)
    })
    child.stdout?.on("data", (chunk: Buffer) => {
      if (this.told) return
      if (this.exit !== undefined) this.lingerOn()
      this.handlers.onChunk(chunk)
    })
    child.stdout?.on("error", () => undefined)
    child.stdout?.once("close", () => {
      this.stdoutEnded = true
      this.settle()
    })
    child.stderr?.setEncoding("utf8")
    child.stderr?.on("data", (text: string) => {
      this.stderr = (this.stderr + text).slice(-STDERR_TAIL)
    })
    child.stderr?.on("error", () => undefined)
    // A child that is gone breaks the pipe. `exit` reports its end.
    child.stdin?.on("error", () => undefined)
    child.once("exit", (code, signal) => {
      this.exit = { code, signal }
      this.handlers.onGone?.()
      this.settle()
    })
  }

  get gone(): boolean {
    return this.exit !== undefined || this.pid === undefined
  }

  write(text: string): void {
    if (this.child?.stdin?.writable === true) this.child.stdin.write(text)
  }

  closeInput(): void {
    this.child?.stdin?.end()
  }

  pause(): void {
    this.child?.stdout?.pause()
  }

  resume(): void {
    this.child?.stdout?.resume()
  }

  private lingerOn(): void {
    clearTimeout(this.linger)
    this.lingerUntil ??= performance.now() + LINGER_LIMIT_MS
    const left = Math.max(0, this.lingerUntil - performance.now())
    this.linger = setTimeout(() => this.tell(), Math.min(LINGER_MS, left))
  }

  private settle(): void {
    if (this.exit === undefined) return
    if (this.stdoutEnded) this.tell()
    else this.lingerOn()
  }

  private tell(): void {
    if (this.told || this.exit === undefined) return
    // Paused by the reader: what is buffered has not been read yet.
    if (!this.stdoutEnded && this.child?.stdout?.isPaused() === true) {
      this.linger = setTimeout(() => this.tell(), LINGER_MS)
      return
    }
    this.told = true
    clearTimeout(this.linger)
    this.child?.stdout?.destroy()
    this.child?.stderr?.destroy()
    this.child?.stdin?.destroy()
    this.handlers.onEnd({ ...this.exit, stderr: fromWord(this.stderr) })
  }
}
