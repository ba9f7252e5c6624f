/**
 * Runner of the `git` program.
 *
 * Guarantees: a repository cannot make git run a program. Hooks, filters, monitors, pagers, credential helpers and the configuration of users
 * and the system are disabled, and git receives nothing of the Edge's environment. Output is bounded, and a slow call is killed.
 * Does not: check the content of a repository.
 */
import { Data, Effect } from "effect"
import { spawn } from "node:child_process"

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

export const git = (call: GitCall): Effect.Effect<GitOutput, GitFailed> =>
  Effect.callback((resume) => {
    const { accept = [0], maxBytes = MAX_BYTES } = call
    const chunks: Array<Buffer> = []
    let size = 0
    let cut = false
    let stderr = ""
    const child = spawn(call.program, [...harmless, ...call.args], {
      cwd: call.cwd,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...quiet, ...call.env },
      stdio: [call.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      timeout: call.timeoutMs,
      killSignal: "SIGKILL"
    })
    // Git may end without having read everything.
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(call.stdin)
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
    child.once("error", (error) => fail(error.message))
    child.once("close", (code, signal) => {
      if (cut || (code !== null && accept.includes(code)))
        return resume(Effect.succeed({ bytes: Buffer.concat(chunks), cut }))
      return fail(signal === null ? stderr.trim() : "git took too long")
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
