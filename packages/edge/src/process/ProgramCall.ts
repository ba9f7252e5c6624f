/**
 * One short call of a program for its output: no terminal, no stdin, up to 10 s.
 *
 * Guarantees: the call's process group is killed when the call ends, so a wrapper's child ends too. Up to 64 KiB of each output are stored.
 * Does not: find a process that leaves the group.
 */
import type { ProbeResult } from "@corral/domain/run/RuntimeAdapter"
import { Effect, Option } from "effect"
import { spawn, type ChildProcess } from "node:child_process"
import { signalGroup } from "./ProcessSweep.ts"

const CALL_LIMIT = "10 seconds"
const OUTPUT_CHARACTERS = 65_536
/** Time from the end of the program to the end of its output, which another process may hold open. */
const LINGER_MS = 200

export interface ProgramCall {
  /** Absolute path. */
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

/** The output; `undefined` if the program could not be started or timed out. */
export const callProgram = (request: ProgramCall): Effect.Effect<ProbeResult | undefined> =>
  Effect.callback<ProbeResult | undefined>((resume) => {
    const child = start(request)
    if (child === undefined) return resume(Effect.undefined)
    const { pid } = child
    const end = () => {
      if (pid !== undefined) signalGroup(pid, "SIGKILL")
      child.stdout?.destroy()
      child.stderr?.destroy()
    }
    const stdout = gather(child.stdout)
    const stderr = gather(child.stderr)
    child.once("error", () => resume(Effect.undefined))
    child.once("exit", (code) => {
      const finish = () => {
        clearTimeout(linger)
        end()
        resume(Effect.succeed({ code, stdout: stdout(), stderr: stderr() }))
      }
      const linger = setTimeout(finish, LINGER_MS)
      child.once("close", finish)
    })
    return Effect.sync(end)
  }).pipe(Effect.timeoutOption(CALL_LIMIT), Effect.map(Option.getOrUndefined))

/** Node reports some failures as an event, and throws others. */
const start = ({ program, args, env, cwd }: ProgramCall): ChildProcess | undefined => {
  try {
    return spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] })
  } catch {
    return undefined
  }
}

/** Reads the whole output, so that the program never waits for a full pipe. Returns the beginning. */
const gather = (output: ChildProcess["stdout"]): (() => string) => {
  let text = ""
  output?.setEncoding("utf8").on("data", (more: string) => {
    if (text.length < OUTPUT_CHARACTERS) text = (text + more).slice(0, OUTPUT_CHARACTERS)
  })
  output?.on("error", () => undefined)
  return () => text
}
