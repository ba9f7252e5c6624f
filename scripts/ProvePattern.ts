/** Proof that a regular expression takes linear time on any text, with the automaton checker of `recheck` in JavaScript. */
import { checkSync } from "recheck"

const LONGEST_PROOF_MS = 60_000

/** `undefined` where it is proven, else why it is not. */
export const refuted = (text: string): string | undefined => {
  const at = text.lastIndexOf("/")
  process.env["RECHECK_BACKEND"] = "pure"
  const verdict = checkSync(text.slice(1, at), text.slice(at + 1), {
    checker: "automaton",
    timeout: LONGEST_PROOF_MS
  })
  switch (verdict.status) {
    case "safe":
      return undefined
    case "vulnerable":
      return `takes ${verdict.complexity.summary} time, for example for ${verdict.attack.pattern}`
    case "unknown":
      return `cannot be proven (${verdict.error.kind})`
  }
}
