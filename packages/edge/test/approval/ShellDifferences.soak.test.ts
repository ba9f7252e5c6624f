/**
 * 1,000,000 generated lines classified, and 20,000 of those that the policy claims to know run in each of six shells, with every file that is
 * opened recorded by `strace`.
 */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { segmentsOf } from "../../src/approval/ShellCommand.ts"
import { Seeded } from "../harness/Seeded.ts"
import { isKnown } from "./shells/ShellClaims.ts"
import { shellLine } from "./shells/ShellLines.ts"
import { ShellRecorder } from "./shells/ShellRecorder.ts"
import { installedShell, shellNames } from "./shells/Shells.ts"
import { tryKnownLines } from "./shells/TriedLines.ts"

/** Parts of the lines that are classified, and lines of each. */
const PARTS = 10
const CLASSIFIED = Number(process.env["CORRAL_TEST_CLASSIFIED"] ?? 1_000_000) / PARTS
/** Lines that run in each shell. */
const LINES = Number(process.env["CORRAL_TEST_LINES"] ?? 20_000)

const recorder = new ShellRecorder({ traces: true })
afterAll(() => recorder.remove())

describe("Generated lines", () => {
  it.each(Array.from({ length: PARTS }, (_, part) => part))("are classified, part %d", (part) => {
    const random = new Seeded(`classified lines, part ${part}`)
    let knownCount = 0
    for (let left = CLASSIFIED; left > 0; left--) {
      const line = shellLine(random)
      for (const { exact, opaque, words } of segmentsOf(line))
        if (exact) assert.isTrue(opaque === undefined && words.length > 0, line)
      if (isKnown(line)) knownCount++
    }
    console.log(`${knownCount} of ${CLASSIFIED} lines are known`)
    assert.isAbove(knownCount, CLASSIFIED / 20)
  })
})

describe("A line that the policy knows", () => {
  describe.each(shellNames)("%s", (name) => {
    const shell = installedShell(name)
    it.skipIf(shell === undefined || !recorder.traces)("opens and runs nothing else", () => {
      if (shell === undefined) return
      const { found, runCount } = tryKnownLines(recorder, shell, new Seeded(`traced lines of ${name}`), LINES)
      console.log(`${name} ran programs in ${runCount} of ${LINES} lines`)
      assert.deepStrictEqual(found, [])
      assert.isAbove(runCount, LINES / 2)
    })
  })
})
