/** Generated lines that the policy knows, run in a shell: what it did beyond the claim. */
import type { Seeded } from "../../harness/Seeded.ts"
import { beyondClaim, isKnown } from "./ShellClaims.ts"
import { shellLine } from "./ShellLines.ts"
import type { ShellRecorder } from "./ShellRecorder.ts"
import type { InstalledShell } from "./Shells.ts"

/** Lines that run in one process of the recorder. */
const BATCH = 500

/** The next generated line that the policy knows. */
const knownLine = (random: Seeded): string => {
  for (;;) {
    const line = shellLine(random)
    if (isKnown(line)) return line
  }
}

export interface TriedLines {
  /** Lines of which the shell ran a program. */
  readonly runCount: number
  readonly found: ReadonlyArray<{ readonly line: string; readonly beyond: ReadonlyArray<string> }>
}

/** Runs `count` known lines in a shell. */
export const tryKnownLines = (
  recorder: ShellRecorder,
  shell: InstalledShell,
  random: Seeded,
  count: number
): TriedLines => {
  let runCount = 0
  const found: Array<TriedLines["found"][number]> = []
  for (let left = count; left > 0; left -= BATCH) {
    const lines = Array.from({ length: Math.min(BATCH, left) }, () => knownLine(random))
    recorder.play(shell, lines).forEach((recording, i) => {
      const line = lines[i] ?? ""
      const beyond = beyondClaim(line, recording)
      if (recording.ran.length > 0) runCount++
      if (beyond.length > 0) found.push({ line, beyond })
    })
  }
  return { runCount, found }
}
