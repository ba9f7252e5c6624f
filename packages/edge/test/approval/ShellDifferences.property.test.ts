/**
 * Lines that the policy claims to know, run in each shell that is installed: nothing runs and no file is written beyond the claim. The soak
 * test runs more of them, and also records what is read.
 */
import { effort } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { segmentsOf } from "../../src/approval/ShellCommand.ts"
import { Seeded } from "../harness/Seeded.ts"
import { grantable } from "./CommandLines.ts"
import { ordinary, unlisted } from "./ConfinedCommands.ts"
import { beyondClaim, isKnown } from "./shells/ShellClaims.ts"
import { ShellRecorder } from "./shells/ShellRecorder.ts"
import { installedShell, shellNames } from "./shells/Shells.ts"
import { tryKnownLines } from "./shells/TriedLines.ts"
import { shellWords } from "./shells/ShellWords.ts"

const LINES = 50 * effort
/** Lines that a shell reads in another way, or that change what a later command is. */
const different: ReadonlyArray<string> = [
  "pa >&!f",
  "pa >!f",
  "pa >&f",
  "pa &>f",
  "cd d && pa &>>f",
  "cd d && pa & pb",
  "env x-=1 pa",
  "cd d && pa &>f",
  "pa >|f",
  "pa <>f",
  "pa <<< x",
  "pa |& pb",
  "pa <1-2>f",
  "pa <1-2> f x",
  "pa>f<1-2>g",
  "for path in d; do pb; done",
  "for PATH in d; do pb; done",
  "[ PATH=1 -eq 1 ] && pa",
  "printf %d PATH=1; pa",
  "exit 'PATH=1'",
  "jobs -x pc",
  "run-help pa",
  "stop pa",
  "repeat 2 pc",
  "time cd d && pa",
  "case x in x) pa;& y) pb;; esac",
  "pa {a,b}",
  "pa ~+",
  "pa =pb",
  "pa $'x'",
  'pa $"x"',
  "pa <(pb)",
  "pa @(x)",
  "pa $((1))",
  "{ pa }",
  "pa &\\\n& pb",
  'pa "a!b"',
  "pa ''~",
  'pa ""~/x',
  "CI=''~ pa",
  "pa >''~/f",
  "pa | time CI=1 pb",
  "pa | time CI+=1 pb",
  "pa | time a[1]=x pb",
  "nohup CI=1 pa",
  "pa(b",
  "pa (b",
  "pa 2>f (b",
  "pa <f(b",
  "nohup(pa x # y & pb",
  "!(pa)",
  "pa; !(pb)",
  "pa && !(\n\tpb\n)"
]

/** Commands of the other tests, as far as they are known and name no path of this machine. */
const commands = [...grantable, ...ordinary, ...unlisted].filter(
  (line) => !/(^|[ =])\//.test(line) && isKnown(line)
)
const wrappers = new Set(["timeout", "env", "nice", "nohup", "stdbuf"])
const programs = new Set(commands.flatMap(segmentsOf).flatMap(({ inner: [program = ""] }) => program))

const recorder = new ShellRecorder({ traces: false })
const commandRecorder = new ShellRecorder({
  traces: false,
  programs: [...programs].filter((program) => !wrappers.has(program) && !program.includes("/"))
})
afterAll(() => {
  recorder.remove()
  commandRecorder.remove()
})

describe("A line that shells read differently", () => {
  it.each(different)("%j is not known", (line) => {
    assert.isFalse(isKnown(line))
  })
})

describe("A line that the policy knows", () => {
  describe.each(shellNames)("%s", (name) => {
    const shell = installedShell(name)
    it.skipIf(shell === undefined)("does nothing else", () => {
      if (shell === undefined) return
      const { found, runCount } = tryKnownLines(recorder, shell, new Seeded(`lines of ${name}`), LINES)
      assert.deepStrictEqual(found, [])
      assert.isAbove(runCount, LINES / 2)
    })

    it.skipIf(shell === undefined)("does nothing else as an ordinary command", () => {
      if (shell === undefined) return
      const random = new Seeded(`commands of ${name}`)
      const lines = Array.from({ length: LINES }, () => random.pick(commands as [string]))
      const recordings = commandRecorder.play(shell, lines)
      const found = recordings.flatMap((recording, i) => beyondClaim(lines[i] ?? "", recording))
      assert.deepStrictEqual(found, [])
      assert.isAbove(recordings.filter(({ ran }) => ran.length > 0).length, LINES / 2)
    })

    it.skipIf(shell === undefined)("is found out if it does something else", () => {
      if (shell === undefined) return
      const planted = ["pa; pc", "cd d && pa > g", "pa x"]
      const recordings = recorder.play(shell, planted)
      const beyond = recordings.map((recording) => beyondClaim("pa", recording))
      assert.deepStrictEqual(beyond, [['[".","pc"]'], ['["d","pa"]', "writes d/g"], ['[".","pa","x"]']])
    })
  })
})

/** Builtins and keywords that do the same in every shell, or the same as the program of that name. */
const alike = new Set(
  ": [ test true false echo printf pwd cd kill exit return command exec type time wait which cat sleep nohup realpath ! dirname basename help hostname".split(
    " "
  )
)

describe("The builtins, keywords and aliases of a shell", () => {
  describe.each(shellNames)("%s", (name) => {
    const shell = installedShell(name)
    it.skipIf(shell === undefined)("are not known", () => {
      if (shell === undefined) return
      const unknown = shellWords(shell).filter(
        (word) =>
          !alike.has(word) &&
          segmentsOf(`${word} x`).every(({ exact, opaque }) => exact && opaque === undefined)
      )
      assert.deepStrictEqual(unknown, [])
    })
  })
})
