/**
 * Runner of the `git` program.
 *
 * Guarantees: a repository cannot make git run a program. Hooks, filters, monitors, pagers, credential helpers and the configuration of users
 * and the system are disabled, and git receives nothing of the Edge's environment. Output is bounded, and a slow call is killed.
 * Does not: check the content of a repository.
 */
import { Data, Effect } from "effect"
import { spawn } from "node:child_process"
import type { PreparedLauncher } from "../process/PreparedLauncher.ts"

export class GitFailed extends Data.TaggedError("GitFailed")<{ readonly message: string }> {}

export interface GitCall {
  /** Absolute path of the program. */
  readonly program: string
  readonly cwd: string
  readonly args: ReadonlyArray<string>
  /** `GIT_DIR`, `GIT_INDEX_FILE` and the like. */
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: Buffer
  readonly timeoutMs: number
  /** Maximum size of the output. Beyond it, git is killed and the output is marked as `cut`. */
  readonly maxBytes?: number
  /** Exit codes that count as success. */
  readonly accept?: ReadonlyArray<number>
  /** Gives the shell that becomes git, if one is ready. */
  readonly launchers?: Pick<PreparedLauncher, "take"> | undefined
}

export interface GitOutput {
  readonly bytes: Buffer
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
  GIT_NO_REPLACE_OBJECTS: "1"
}

const MAX_BYTES = 67_108_864
const MESSAGE = 300

/** Throws the error of the operating system, or reports it as an event. */
const start = ({ args, cwd, env, launchers, program, stdin }: GitCall) => {
  const command = {
    file: program,
    args: [...harmless, ...args],
    cwd,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...quiet, ...env },
    hasStdin: stdin !== undefined,
    hasControl: false
  }
  const launched = launchers?.take()?.launch(command)
  if (launched !== undefined) return launched
  const child = spawn(program, command.args, {
    cwd,
    env: command.env,
    stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"]
  })
  return { child, stdin: child.stdin ?? undefined }
}

export const git = (call: GitCall): Effect.Effect<GitOutput, GitFailed> =>
  Effect.callback((resume) => {
    const { accept = [0], maxBytes = MAX_BYTES } = call
    const chunks: Array<Buffer> = []
    let size = 0
    let cut = false
    let stderr = ""
    const { child, stdin } = start(call)
    const limit = setTimeout(() => child.kill("SIGKILL"), call.timeoutMs)
    // Git may end without having read everything.
    stdin?.on("error", () => undefined)
    stdin?.end(call.stdin)
    child.stdout?.on("data", (chunk: Buffer) => {
      if (cut) return
      cut = size + chunk.length > maxBytes
      chunks.push(cut ? chunk.subarray(0, maxBytes - size) : chunk)
      size += chunk.length
      if (cut) child.kill("SIGKILL")
    })
    child.stderr
      ?.setEncoding("utf8")
      .on("data", (text: string) => (stderr = (stderr + text).slice(0, MESSAGE)))
    const fail = (message: string) => resume(Effect.fail(new GitFailed({ message })))
    child.once("error", (error) => {
      clearTimeout(limit)
      fail(error.message)
    })
    child.once("close", (code, signal) => {
      clearTimeout(limit)
      if (cut || (code !== null && accept.includes(code)))
        return resume(Effect.succeed({ bytes: Buffer.concat(chunks), cut }))
      return fail(signal === null ? stderr.trim() : "git took too long")
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
