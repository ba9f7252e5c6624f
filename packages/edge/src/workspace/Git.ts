/**
 * Runner of the `git` program, and the confinement for a git that reads the repository of a run, which the confinement of runs provides.
 *
 * Guarantees: a repository cannot make git run a program. Hooks, filters, monitors, pagers, credential helpers and the configuration of users
 * and the system are disabled, and git receives nothing of the Edge's environment. Output is bounded. A slow call is killed, and so is one that may
 * never end: it waits for something that may never come, such as the other end of a pipe, or has a huge file of a folder open, such as a file with a
 * hole of a terabyte, which it would read for hours. An isolated git sees the system's programs and the folders that it is called with, and has no
 * network.
 * Does not: check the content of a repository. Where `/proc` does not exist, a process that runs longer than `WITHOUT_PROC_MS` counts as stalled, and
 * no huge file is found.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs"
import { Data, Effect, Context } from "effect"
import { spawn } from "node:child_process"
import { PassThrough, Readable, type Writable } from "node:stream"
import type { PreparedLauncher } from "../process/Launcher.ts"
import type { ObjectFolder } from "./WorkspaceRepository.ts"

const LOOK_MS = 100
/** Looks in a row without progress. */
const LOOKS = 3
const WITHOUT_PROC_MS = 5_000

/** Processor time of all threads if all of them sleep; `undefined` if one of them works, or the process has ended. */
const sleepingTime = (pid: number): number | undefined => {
  try {
    let time = 0
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1")
      // The name of the program is in brackets and may contain anything.
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
      if (fields[0] !== "S") return undefined
      time += Number(fields[11]) + Number(fields[12])
    }
    return time
  } catch {
    return undefined
  }
}

interface Watch {
  readonly pid: number
  /** Changes when this process has read output or written input: a process that waits for a busy Edge has not stalled. */
  readonly passed: () => number
  readonly isStuck: () => boolean
  readonly onStall: () => void
}

/** Calls `onStall` once. Returns a function that ends the watch. */
const watchStall = ({ isStuck, onStall, passed, pid }: Watch): (() => void) => {
  const hasProc = existsSync("/proc/self/task")
  let before: number | undefined
  let passedBefore = passed()
  let looks = 0
  let elapsed = 0
  const timer = setInterval(() => {
    elapsed += LOOK_MS
    const time = hasProc ? sleepingTime(pid) : undefined
    const passedNow = passed()
    looks = time !== undefined && time === before && passedNow === passedBefore ? looks + 1 : 0
    before = time
    passedBefore = passedNow
    const isStalled = hasProc ? looks >= LOOKS : elapsed >= WITHOUT_PROC_MS
    if (!isStalled && !isStuck()) return
    clearInterval(timer)
    onStall()
  }, LOOK_MS).unref()
  return () => clearInterval(timer)
}

/** Bytes. */
const HUGE = 1_073_741_824
/** Packs of git are large, and git reads only parts of them. */
const PACKS = "/objects/pack/"

const isHugeIn = (folder: string, descriptor: string): boolean => {
  try {
    const path = readlinkSync(descriptor)
    return path.startsWith(`${folder}/`) && !path.includes(PACKS) && statSync(descriptor).size > HUGE
  } catch {
    // It was closed.
    return false
  }
}

/** Whether the process has a huge file of the folder open. Linux only. `folder`: a real path. */
const hasHugeFile = (pid: number, folder: string): boolean => {
  const descriptors = `/proc/${pid}/fd`
  try {
    return readdirSync(descriptors).some((name) => isHugeIn(folder, `${descriptors}/${name}`))
  } catch {
    return false
  }
}

/** `slow`: it was killed at its time limit. `stalled`: it waited for something other than a disk, or read a huge file. */
export class GitFailed extends Data.TaggedError("GitFailed")<{
  readonly message: string
  readonly end?: "slow" | "stalled" | undefined
}> {}

/** Work on git's files. Its failures are reported like git's failures. */
export const attemptFiles = <A>(work: () => A): Effect.Effect<A, GitFailed> =>
  Effect.try({ try: work, catch: (cause) => new GitFailed({ message: String(cause) }) })

export interface GitCall {
  /** Absolute path of the program. */
  readonly program: string
  readonly cwd: string
  readonly args: ReadonlyArray<string>
  /** `GIT_DIR`, `GIT_INDEX_FILE` and the like. */
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: Buffer
  readonly timeoutMs: number
  /**
   * Kills git as soon as it waits for something other than a disk, or reads a huge file of this folder. Not for a git that receives its input bit
   * by bit.
   */
  readonly watched?: string
  /** Maximum size of the output. Beyond it, git is killed and the output is marked as `cut`. */
  readonly maxBytes?: number
  /** Whether the output is only counted. */
  readonly isDiscarded?: boolean
  /** Exit codes that count as success. */
  readonly accept?: ReadonlyArray<number>
  /** Gives the shell that becomes git, if one is ready. */
  readonly launchers?: Pick<PreparedLauncher, "take"> | undefined
  /** The command in a confinement. */
  readonly isolate?: ((command: IsolatedCommand) => IsolatedCommand) | undefined
}

export interface IsolatedCommand {
  readonly file: string
  readonly args: ReadonlyArray<string>
}

export interface GitOutput {
  readonly bytes: Buffer
  /** Exit code. */
  readonly code: number
  /** What git printed to stderr, up to 64 KiB. */
  readonly warnings: string
  readonly cut: boolean
}

const harmless = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.quotePath=false",
  "core.autocrlf=false",
  "core.safecrlf=false",
  "core.symlinks=true",
  "core.fileMode=true",
  "core.looseCompression=1",
  "gc.auto=0",
  "submodule.recurse=false",
  "advice.addEmbeddedRepo=false",
  "protocol.allow=never"
].flatMap((setting) => ["-c", setting])

const quiet = {
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  // Overrides a repository's `protocol.<name>.allow`, which overrides `protocol.allow`.
  GIT_ALLOW_PROTOCOL: "",
  GIT_NO_LAZY_FETCH: "1",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  // Largest piece of memory, so that a small pack cannot claim to hold a huge object.
  GIT_ALLOC_LIMIT: "1g"
}

const MAX_BYTES = 67_108_864
/** Characters of stderr. */
export const MAX_WARNINGS = 65_536
const MESSAGE = 300

const messages = {
  slow: "git took too long",
  stalled: "git waited for a pipe or a device, or read a huge file",
  killed: "git was killed"
}

/** Throws the error of the operating system, or reports it as an event. */
const start = ({ args, cwd, env, isolate, launchers, program, stdin }: GitCall) => {
  const harmlessCommand = { file: program, args: [...harmless, ...args] }
  const command = {
    ...(isolate === undefined ? harmlessCommand : isolate(harmlessCommand)),
    cwd,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...quiet, ...env },
    hasStdin: stdin !== undefined,
    hasControl: false
  }
  const launched = launchers?.take()?.launch(command)
  if (launched !== undefined) return launched
  const child = spawn(command.file, command.args, {
    cwd,
    env: command.env,
    stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"]
  })
  return { child, stdin: child.stdin ?? undefined }
}

export const git = (call: GitCall): Effect.Effect<GitOutput, GitFailed> => runGit(call, ({ stdin }) => stdin)

/** Runs git with the output of another git as its input, up to `maxBytes`. Succeeds if both do. */
export const pipeGit = (from: GitCall, to: GitCall, maxBytes: number): Effect.Effect<GitOutput, GitFailed> =>
  Effect.suspend(() => {
    const passage = new PassThrough()
    const source = runGit(from, ({ stdin }) => stdin, { passage, maxBytes })
    const sink = runGit({ ...to, stdin: Buffer.alloc(0) }, () => passage)
    // The input ends only if the source succeeded. Otherwise the interruption ends the second git.
    const ended = Effect.tap(source, () => Effect.sync(() => passage.end()))
    return Effect.map(Effect.all([ended, sink], { concurrency: 2 }), ([, output]) => output)
  })

/** Where output goes instead of memory. */
interface OutputPassage {
  readonly passage: PassThrough
  readonly maxBytes: number
}

const PIECE_BYTES = 65_536

/** Pieces of the input, each when there is room for it. */
const piecesOf = function* (input: Buffer, onPiece: (bytes: number) => void) {
  for (let at = 0; at < input.length; at += PIECE_BYTES) {
    const piece = input.subarray(at, at + PIECE_BYTES)
    onPiece(piece.length)
    yield piece
  }
}

/** Writes the input, if there is one, and ends it. */
const writeInput = (
  stdin: Writable,
  input: Buffer | PassThrough | undefined,
  onPiece: (bytes: number) => void
): void => {
  // Git may end without having read everything.
  stdin.on("error", () => undefined)
  if (input === undefined) stdin.end()
  else if (input instanceof PassThrough) input.pipe(stdin)
  else Readable.from(piecesOf(input, onPiece)).pipe(stdin)
}

const runGit = (
  call: GitCall,
  inputOf: (call: GitCall) => Buffer | PassThrough | undefined,
  output?: OutputPassage
): Effect.Effect<GitOutput, GitFailed> =>
  Effect.callback((resume) => {
    const { accept = [0], watched } = call
    const maxBytes = output?.maxBytes ?? call.maxBytes ?? MAX_BYTES
    const chunks: Array<Buffer> = []
    let size = 0
    let written = 0
    let cut = false
    let stderr = ""
    const { child, stdin } = start(call)
    const { pid } = child
    let end: "slow" | "stalled" | undefined
    const endAs = (reason: "slow" | "stalled") => () => {
      end = reason
      child.kill("SIGKILL")
    }
    const limit = setTimeout(endAs("slow"), call.timeoutMs)
    const stopWatch =
      watched !== undefined && pid !== undefined
        ? watchStall({
            pid,
            passed: () => size + written,
            isStuck: () => hasHugeFile(pid, watched),
            onStall: endAs("stalled")
          })
        : () => undefined
    const stopClocks = () => {
      clearTimeout(limit)
      stopWatch()
    }
    if (stdin !== undefined) writeInput(stdin, inputOf(call), (bytes) => (written += bytes))
    child.stdout?.on("data", (chunk: Buffer) => {
      if (cut) return
      cut = size + chunk.length > maxBytes
      if (call.isDiscarded === true) chunks.length = 0
      else if (output === undefined) chunks.push(cut ? chunk.subarray(0, maxBytes - size) : chunk)
      else if (!cut && !output.passage.write(chunk)) waitForRoom(output.passage, child.stdout)
      size += chunk.length
      if (cut) child.kill("SIGKILL")
    })
    child.stderr
      ?.setEncoding("utf8")
      .on("data", (text: string) => (stderr = (stderr + text).slice(0, MAX_WARNINGS)))
    const fail = (message: string) => resume(Effect.fail(new GitFailed({ message, end })))
    child.once("error", (error) => {
      stopClocks()
      fail(error.message)
    })
    child.once("close", (code, signal) => {
      stopClocks()
      if (cut && output !== undefined) return fail("its output is too large")
      if (cut || (code !== null && accept.includes(code)))
        return resume(
          Effect.succeed({ bytes: Buffer.concat(chunks), cut, code: code ?? 0, warnings: stderr })
        )
      return fail(signal === null ? stderr.slice(0, MESSAGE).trim() : messages[end ?? "killed"])
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const waitForRoom = (passage: PassThrough, source: Readable | null): void => {
  source?.pause()
  passage.once("drain", () => source?.resume())
}

/** Folders that an isolated git sees. */
export interface IsolatedFolders {
  /** The run's repository. */
  readonly repository: string
  readonly objects: ReadonlyArray<ObjectFolder>
}

export type GitIsolation = (command: IsolatedCommand, folders: IsolatedFolders) => IsolatedCommand

export const GitIsolation = Context.Reference<GitIsolation>("corral/edge/GitIsolation", {
  defaultValue: () => (command) => command
})
