/**
 * Attempts of a program to go beyond its limits. Runs inside the confinement, so it and its neighbours import nothing but Node's own modules.
 */
import { execFileSync } from "node:child_process"

/** By name. An attempt fails by throwing. */
export type Attempts = Readonly<Record<string, () => unknown>>

/** What an attempt gives that got through. Other results say why it failed. */
export const SUCCEEDED = "succeeded"
/** What an attempt gives that this machine has no means for. */
export const NOT_TRIED = "not tried"

/** Fails an attempt that had no effect. */
export const expectTrue = (condition: boolean): void => {
  if (!condition) throw new Error("it made no difference")
}

export const runShell = (script: string): void =>
  void execFileSync("/bin/sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"], timeout: 5_000 })

/** Exit code of a shell that does not find a program. */
const NOT_FOUND = 127

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  if ("status" in cause && cause.status === NOT_FOUND) return NOT_TRIED
  if ("code" in cause && typeof cause.code === "string") return cause.code
  return cause.message.split("\n")[0] ?? ""
}

/** Tries each in turn. */
export const resultsOf = async (attempts: Attempts): Promise<Readonly<Record<string, string>>> => {
  const results: Record<string, string> = {}
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt()
      results[name] = SUCCEEDED
    } catch (cause) {
      results[name] = reasonOf(cause)
    }
  }
  return results
}
